# SPDX-License-Identifier: Apache-2.0
"""`python3 -m sinew --version`: the version, and which library is used."""
import argparse
import platform

import sinew
from sinew import _library


def main() -> None:
    parser = argparse.ArgumentParser(prog="python3 -m sinew", description="The communicator of sinew for Python.")
    parser.add_argument("--version", action="store_true", help="print the version, the library and Python's version")
    arguments = parser.parse_args()
    if not arguments.version:
        parser.error("nothing to do (expected --version). Programs are started by: sinew run -n 4 python3 train.py")
    print(f"sinew {sinew.__version__} ({_library.path()}), Python {platform.python_version()}")


main()
