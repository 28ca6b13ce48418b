# SPDX-License-Identifier: Apache-2.0
"""Finds and loads libsinew_c.so, and declares its functions (include/sinew/sinew.h)."""
from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from ctypes import POINTER, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

FILE_NAME = "libsinew_c.so.1"
VARIABLE = "SINEW_LIBRARY"


class LibraryNotFound(ImportError):
    """libsinew_c.so.1 is nowhere, or cannot be loaded. The text lists what was tried."""


class ReceivedStruct(ctypes.Structure):
    """sinew_received."""

    _fields_ = [("source", c_int32), ("tag", c_int32), ("count", c_uint64)]


class OptionsStruct(ctypes.Structure):
    """sinew_options."""

    _fields_ = [("size", c_size_t), ("algorithm", c_char_p), ("timeout_ns", c_int64), ("stream", c_void_p),
                ("after", c_void_p), ("memory", c_int32), ("unused", c_int32)]


class GradientStruct(ctypes.Structure):
    """sinew_gradient."""

    _fields_ = [("name", c_char_p), ("data", c_void_p), ("count", c_size_t), ("type", c_uint32), ("rows", c_uint32)]


class GradientOptionsStruct(ctypes.Structure):
    """sinew_gradient_options."""

    _fields_ = [("size", c_size_t), ("bucket_bytes", c_size_t), ("first_bucket_bytes", c_size_t), ("op", c_size_t),
                ("clip_norm", c_double), ("algorithm", c_char_p), ("timeout_ns", c_int64), ("wire", c_int32),
                ("registration_order", c_int32), ("error_feedback", c_int32), ("check_finite", c_int32),
                ("powersgd_rank", c_int32), ("tune_bucket_bytes", c_int32), ("stream", c_void_p)]


class GradientStepStruct(ctypes.Structure):
    """sinew_gradient_step."""

    _fields_ = [("norm", c_double), ("active_ranks", c_int32), ("unused", c_int32)]


class BucketTimingStruct(ctypes.Structure):
    """sinew_bucket_timing."""

    _fields_ = [("bucket_bytes", c_size_t), ("seconds", c_double)]


class ParameterStruct(ctypes.Structure):
    """sinew_parameter."""

    _fields_ = [("name", c_char_p), ("data", c_void_p), ("gradient", c_void_p), ("count", c_size_t),
                ("type", c_uint32), ("unused", c_uint32)]


class DeviceParameterStruct(ctypes.Structure):
    """sinew_device_parameter."""

    _fields_ = [("name", c_char_p), ("data", c_void_p), ("gradient", c_void_p), ("count", c_size_t),
                ("type", c_uint32), ("gradient_type", c_uint32)]


class OptimizerRuleStruct(ctypes.Structure):
    """sinew_optimizer_rule."""

    _fields_ = [("size", c_size_t), ("kind", c_int32), ("nesterov", c_int32), ("decoupled", c_int32),
                ("unused", c_int32), ("learning_rate", c_double), ("weight_decay", c_double), ("momentum", c_double),
                ("beta1", c_double), ("beta2", c_double), ("epsilon", c_double)]


class LocalSgdOptionsStruct(ctypes.Structure):
    """sinew_local_sgd_options."""

    _fields_ = [("size", c_size_t), ("period", c_size_t), ("warm_up", c_size_t), ("outer_momentum", c_double),
                ("outer_learning_rate", c_double), ("buckets", POINTER(GradientOptionsStruct)), ("nesterov", c_int32),
                ("unused", c_int32)]


class StateOptionsStruct(ctypes.Structure):
    """sinew_state_options."""

    _fields_ = [("size", c_size_t), ("keep", c_int32), ("copies", c_int32), ("timeout_ns", c_int64)]


CHECK = ctypes.CFUNCTYPE(c_int, c_void_p)
GIVE = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)
SAVE = ctypes.CFUNCTYPE(c_int, c_void_p, GIVE, c_void_p)
LOAD = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)
FUNCTION = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p)


def _candidates() -> Iterator[tuple[str, str]]:
    """Where the library may be: what to load, and why there."""
    named = os.environ.get(VARIABLE)
    if named:
        path = Path(named)
        yield str(path / FILE_NAME if path.is_dir() else path), f"{VARIABLE}={named}"
        return
    package = Path(__file__).resolve().parent
    yield str(package / FILE_NAME), "in the package"
    for folder in package.parents:  # PREFIX/lib[/MULTIARCH] of PREFIX/lib/python3/dist-packages/sinew
        if folder.name in ("lib", "lib64"):
            yield str(folder / FILE_NAME), "beside the package"
            for path in sorted(folder.glob(f"*/{FILE_NAME}")):
                yield str(path), "beside the package"
    yield FILE_NAME, "where the system looks for libraries (LD_LIBRARY_PATH, ldconfig)"


def _load() -> tuple[ctypes.CDLL, str]:
    tried = []
    for path, why in _candidates():
        if os.sep in path and not os.path.exists(path):
            tried.append(f"  {path} ({why}): no such file")
            continue
        try:
            return ctypes.CDLL(path), path
        except OSError as error:
            tried.append(f"  {path} ({why}): {error}")
    raise LibraryNotFound(
        f"sinew: {FILE_NAME} was not found. Tried:\n" + "\n".join(tried) +
        f"\nInstall sinew (cmake --install build/release --prefix PREFIX), or let {VARIABLE} "
        "name the file or its folder.")


library, _path = _load()

_buffers: list[Any] = [c_void_p, c_void_p, c_size_t, c_void_p, c_size_t]  # communicator, in, in_count, out, out_count
_parts = [c_void_p, c_void_p]
_type, _op, _root, _options = c_uint32, c_size_t, c_int, c_void_p
_collectives: dict[str, list[Any]] = {
    "allreduce": [*_buffers, _type, _op, _options],
    "reduce_scatter": [*_buffers, *_parts, _type, _op, _options],
    "reduce_scatter_block": [*_buffers, _type, _op, _options],
    "allgather": [*_buffers, _type, _options],
    "allgatherv": [*_buffers, *_parts, _type, _options],
    "broadcast": [c_void_p, c_void_p, c_size_t, _type, _root, _options],
    "reduce": [*_buffers, _type, _op, _root, _options],
    "gather": [*_buffers, _type, _root, _options],
    "gatherv": [*_buffers, *_parts, _type, _root, _options],
    "scatter": [*_buffers, _type, _root, _options],
    "scatterv": [*_buffers, *_parts, _type, _root, _options],
    "alltoall": [*_buffers, _type, _options],
    "alltoallv": [*_buffers, *_parts, *_parts, _type, _options],
    "scan": [*_buffers, _type, _op, _options],
    "exscan": [*_buffers, _type, _op, _options],
    "barrier": [c_void_p, _options],
}
#: The names of the collectives.
COLLECTIVES = tuple(_collectives)
_message = [c_void_p, c_void_p, c_size_t, _type, c_int, c_int, _options]
_received = POINTER(ReceivedStruct)
_others: dict[str, tuple[Any, list[Any]]] = {
    "last_error": (c_char_p, []),
    "last_error_code": (c_int, []),
    "version": (c_char_p, []),
    "set_interrupt_check": (c_int, [CHECK, c_void_p]),
    "type_size": (c_size_t, [_type]),
    "op_create": (c_int, [FUNCTION, c_void_p, _type, c_int, c_char_p, POINTER(c_size_t)]),
    "op_destroy": (None, [c_size_t]),
    "world_create": (c_int, [c_int, c_void_p, POINTER(c_void_p)]),
    "world_destroy": (c_int, [c_void_p]),
    "world_abandon": (c_int, [c_void_p, c_char_p]),
    "world_communicator": (c_void_p, [c_void_p]),
    "world_bootstrap": (c_char_p, [c_void_p]),
    "rank": (c_int, [c_void_p]),
    "size": (c_int, [c_void_p]),
    "nodes": (c_int, [c_void_p]),
    "node_of": (c_int, [c_void_p, c_int]),
    "local_rank": (c_int, [c_void_p]),
    "local_size": (c_int, [c_void_p]),
    "max_tag": (c_int, [c_void_p]),
    "host_of": (c_char_p, [c_void_p, c_int]),
    "split": (c_int, [c_void_p, c_int, c_int, POINTER(c_void_p)]),
    "split_node": (c_int, [c_void_p, POINTER(c_void_p)]),
    "dup": (c_int, [c_void_p, POINTER(c_void_p)]),
    "shrink": (c_int, [c_void_p, c_int64, POINTER(c_void_p)]),
    "communicator_destroy": (c_int, [c_void_p]),
    "explain": (c_int, [c_void_p, c_char_p, c_char_p, c_size_t, POINTER(c_size_t)]),
    "algorithm_for": (c_int, [c_void_p, c_char_p, c_size_t, _type, _op, c_char_p, c_size_t, POINTER(c_size_t)]),
    "allocate": (c_int, [c_void_p, c_size_t, POINTER(c_void_p)]),
    "memory_data": (c_void_p, [c_void_p]),
    "memory_shared": (c_int, [c_void_p]),
    "memory_destroy": (None, [c_void_p]),
    "request_wait": (c_int, [c_void_p, _received]),
    "request_test": (c_int, [c_void_p, POINTER(c_int), _received]),
    "request_wait_for": (c_int, [c_void_p, c_int64, POINTER(c_int), _received]),
    "request_cancel": (c_int, [c_void_p, POINTER(c_int)]),
    "request_destroy": (None, [c_void_p]),
    "persistent_start": (c_int, [c_void_p]),
    "persistent_wait": (c_int, [c_void_p]),
    "persistent_test": (c_int, [c_void_p, POINTER(c_int)]),
    "persistent_wait_for": (c_int, [c_void_p, c_int64, POINTER(c_int)]),
    "persistent_destroy": (None, [c_void_p]),
    "buckets_create": (c_int, [c_void_p, POINTER(GradientStruct), c_size_t, POINTER(GradientOptionsStruct),
                               POINTER(c_void_p)]),
    "buckets_count": (c_size_t, [c_void_p]),
    "buckets_view": (c_int, [c_void_p, c_size_t, POINTER(c_void_p)]),
    "buckets_ready": (c_int, [c_void_p, c_size_t]),
    "buckets_finish": (c_int, [c_void_p, POINTER(GradientStepStruct)]),
    "buckets_broadcast_parameters": (c_int, [c_void_p, POINTER(GradientStruct), c_size_t, c_int]),
    "buckets_average": (c_int, [c_void_p, POINTER(c_double), c_size_t]),
    "buckets_join": (c_int, [c_void_p, POINTER(c_int)]),
    "buckets_residuals": (c_int, [c_void_p, c_void_p, c_size_t, POINTER(c_size_t)]),
    "buckets_restore_residuals": (c_int, [c_void_p, c_void_p, c_size_t]),
    "buckets_tuning": (c_int, [c_void_p, POINTER(c_size_t), POINTER(c_int), POINTER(BucketTimingStruct), c_size_t,
                               POINTER(c_size_t)]),
    "buckets_destroy": (None, [c_void_p]),
    "optimizer_create": (c_int, [c_void_p, POINTER(ParameterStruct), c_size_t, POINTER(OptimizerRuleStruct),
                                 POINTER(GradientOptionsStruct), POINTER(c_void_p)]),
    "optimizer_ready": (c_int, [c_void_p, c_size_t]),
    "optimizer_step": (c_int, [c_void_p, POINTER(GradientStepStruct)]),
    "optimizer_set_learning_rate": (c_int, [c_void_p, c_double]),
    "optimizer_broadcast_parameters": (c_int, [c_void_p, c_int]),
    "optimizer_average": (c_int, [c_void_p, POINTER(c_double), c_size_t]),
    "optimizer_join": (c_int, [c_void_p, POINTER(c_int)]),
    "optimizer_state_elements": (c_size_t, [c_void_p]),
    "optimizer_add_to": (c_int, [c_void_p, c_void_p, c_char_p]),
    "optimizer_destroy": (None, [c_void_p]),
    "device_sgd_create": (c_int, [c_void_p, POINTER(DeviceParameterStruct), c_size_t, POINTER(OptimizerRuleStruct),
                                  POINTER(GradientOptionsStruct), POINTER(c_void_p)]),
    "device_sgd_ready": (c_int, [c_void_p, c_size_t]),
    "device_sgd_step": (c_int, [c_void_p, POINTER(GradientStepStruct)]),
    "device_sgd_set_learning_rate": (c_int, [c_void_p, c_double]),
    "device_sgd_average": (c_int, [c_void_p, POINTER(c_double), c_size_t]),
    "device_sgd_join": (c_int, [c_void_p, POINTER(c_int)]),
    "device_sgd_add_to": (c_int, [c_void_p, c_void_p, c_char_p]),
    "device_sgd_destroy": (None, [c_void_p]),
    "local_sgd_create": (c_int, [c_void_p, POINTER(GradientStruct), c_size_t, POINTER(LocalSgdOptionsStruct),
                                 POINTER(c_void_p)]),
    "local_sgd_step": (c_int, [c_void_p, POINTER(c_int)]),
    "local_sgd_synchronise": (c_int, [c_void_p]),
    "local_sgd_steps": (c_size_t, [c_void_p]),
    "local_sgd_add_to": (c_int, [c_void_p, c_void_p, c_char_p]),
    "local_sgd_destroy": (None, [c_void_p]),
    "state_create": (c_int, [c_void_p, c_char_p, POINTER(StateOptionsStruct), POINTER(c_void_p)]),
    "state_add_shared": (c_int, [c_void_p, c_char_p, c_void_p, c_size_t, _type]),
    "state_add_own": (c_int, [c_void_p, c_char_p, c_void_p, c_size_t, _type]),
    "state_add_function": (c_int, [c_void_p, c_char_p, SAVE, LOAD, c_void_p]),
    "state_commit": (c_int, [c_void_p, c_uint64]),
    "state_restore": (c_int, [c_void_p, POINTER(c_int), POINTER(c_uint64)]),
    "state_sync": (c_int, [c_void_p, c_int]),
    "state_destroy": (None, [c_void_p]),
    "send": (c_int, _message),
    "recv": (c_int, [*_message, _received]),
    "sendrecv": (c_int, [c_void_p, c_void_p, c_size_t, c_int, c_void_p, c_size_t, c_int, _type, c_int, _options,
                         _received]),
    "isend": (c_int, [*_message, POINTER(c_void_p)]),
    "irecv": (c_int, [*_message, POINTER(c_void_p)]),
}
try:
    for _name, (_result, _types) in _others.items():
        _function = getattr(library, "sinew_" + _name)
        _function.restype = _result
        _function.argtypes = _types
    for _name, _arguments in _collectives.items():
        getattr(library, "sinew_" + _name).argtypes = _arguments
        getattr(library, "sinew_i" + _name).argtypes = [*_arguments, POINTER(c_void_p)]
        getattr(library, f"sinew_{_name}_init").argtypes = [*_arguments, POINTER(c_void_p)]
except AttributeError as error:
    raise LibraryNotFound(f"sinew: {_path} is older than this package: {error}") from None


class Process:
    """Whether this process is a child that a rank has forked. It has the rank's objects, and must not end them: they
    are the rank's, and the threads that would do it are not in the child."""

    is_fork = False

    @classmethod
    def _forked(cls) -> None:
        cls.is_fork = True


os.register_at_fork(after_in_child=Process._forked)


def version() -> str:
    """The version of the library."""
    return library.sinew_version().decode()


def path() -> str:
    """The file that was loaded."""
    return _path
