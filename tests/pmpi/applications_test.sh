#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# applications_test.sh MPI MPIEXEC LIBRARY: Debian's LAMMPS, Quantum ESPRESSO and the tests of its ScaLAPACK give the
# results that they give without the library. Skipped (77) without any of them.
set -u
mpi=$1 mpiexec=$2 library=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tested=()
fail() { echo "$1"; cat "$work/got"; exit 1; }
taken() { grep -Eq " [1-9][0-9]* of [0-9]+ calls through shared memory" "$work/got"; }
started() { timeout 200 "$mpiexec" -n 2 "$@"; }
accelerated() { started env LD_PRELOAD="$library" SINEW_MPI_STATS=1 "$@" > "$work/got" 2>&1; }

# Debian's LAMMPS is for its default MPI.
if [ "$mpi" = openmpi ] && [ -x /usr/bin/lmp ]; then
    cat > "$work/melt" <<'INPUT'
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
fix 1 all nve
thermo 10
run 50
INPUT
    energies() { grep -E '^ +[0-9]+ +[0-9.]+ +-' "$1"; }
    started /usr/bin/lmp -in "$work/melt" -log none > "$work/expected" 2>&1 || fail "LAMMPS fails without the library"
    accelerated /usr/bin/lmp -in "$work/melt" -log none || fail "LAMMPS fails"
    taken || fail "nothing of LAMMPS was taken"
    [ "$(energies "$work/expected" | wc -l)" -eq 6 ] || fail "LAMMPS prints no energies"
    [ "$(energies "$work/expected")" = "$(energies "$work/got")" ] || fail "LAMMPS has other energies"
    tested+=(LAMMPS)
fi
folder=$(echo /usr/lib/*/scalapack/"$mpi"-tests)
if [ -x "$folder/xdlu" ]; then
    for program in xdlu xdinv; do
        (cd "$folder" && accelerated "./$program") || fail "$program of ScaLAPACK fails"
        taken || fail "nothing of $program was taken"
        grep -Eq '[1-9][0-9]* tests completed and passed' "$work/got" || fail "$program has tested nothing"
        grep -Eq ' 0 tests completed and failed' "$work/got" || fail "tests of $program fail"
    done
    tested+=(ScaLAPACK)
fi
# Quantum ESPRESSO: silicon, with a pseudopotential of quantum-espresso-data. All that it prints but times is the same.
silicon=/usr/share/espresso/pseudo/Si.pz-vbc.UPF
if [ "$mpi" = openmpi ] && [ -x /usr/bin/pw.x ] && [ -r $silicon ]; then
    cp $silicon "$work/Si.UPF"
    cat > "$work/silicon" <<INPUT
&control
 calculation='scf', prefix='si', pseudo_dir='$work', outdir='$work/si'
/
&system
 ibrav=2, celldm(1)=10.20, nat=2, ntyp=1, ecutwfc=18.0
/
&electrons
 conv_thr=1.0d-8
/
ATOMIC_SPECIES
 Si 28.086 Si.UPF
ATOMIC_POSITIONS alat
 Si 0.00 0.00 0.00
 Si 0.25 0.25 0.25
K_POINTS automatic
 4 4 4 1 1 1
INPUT
    export OMP_NUM_THREADS=1
    printed() { grep -vE 'CPU|WALL|cpu time|starts on|terminated on|^sinew: ' "$1"; }
    started /usr/bin/pw.x -in "$work/silicon" > "$work/expected" 2>&1 || fail "pw.x fails without the library"
    accelerated /usr/bin/pw.x -in "$work/silicon" || fail "pw.x fails"
    taken || fail "nothing of pw.x was taken"
    grep -q '^!    total energy  *= *-15.8445' "$work/got" || fail "pw.x prints no energy of silicon"
    diff <(printed "$work/expected") <(printed "$work/got") || fail "pw.x prints something else"
    tested+=("Quantum ESPRESSO")
fi
((${#tested[@]})) || { echo "neither LAMMPS nor Quantum ESPRESSO nor ScaLAPACK's tests are here (Debian: lammps, quantum-espresso, quantum-espresso-data, scalapack-mpi-test)"; exit 77; }
printf 'the same results with the library: %s\n' "${tested[@]}"
[ "$mpi" != openmpi ] || [ ${#tested[@]} -eq 3 ] || echo "the others are not here (Debian: lammps, quantum-espresso, quantum-espresso-data, scalapack-mpi-test)"
