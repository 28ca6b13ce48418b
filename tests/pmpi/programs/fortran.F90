! SPDX-License-Identifier: Apache-2.0
! The collectives as Fortran programs call them: by mpif.h, by "use mpi" or by "use mpi_f08", as the
! preprocessor is told. Prints "right" on rank 0 if all results are right on all ranks.
program collectives
#if defined(WITH_F08)
  use mpi_f08
#elif defined(WITH_MODULE)
  use mpi
#endif
  implicit none
#if defined(WITH_MPIF_H)
  include 'mpif.h'
#endif
#if defined(WITH_F08)
  type(MPI_Op) :: op
  type(MPI_Comm) :: half
  type(MPI_Datatype) :: pair_type
  type(MPI_Request) :: requests(2)
#else
  integer :: op, half, pair_type, requests(2)
#endif
#if defined(WITH_F08)
  procedure(MPI_User_function) :: first_of_both
#else
  external :: first_of_both
#endif
  integer :: rank, ranks, ierr, i, total, own, part, part_ranks
  integer :: numbers(40), sums(40)
  integer, allocatable :: table(:), turned(:)
  double precision :: values(3000), results(3000), pair(2), best(2)
  complex :: z, z_sum
  logical :: yes, all_yes, right, done

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  total = ranks * (ranks - 1) / 2
  right = .true.

  do i = 1, 40
    numbers(i) = rank + i
  end do
  call MPI_Allreduce(numbers, sums, 40, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  right = right .and. all(sums == (/ (total + ranks * i, i = 1, 40) /))
  sums = numbers
  call MPI_Allreduce(MPI_IN_PLACE, sums, 40, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierr)
  right = right .and. all(sums == (/ (ranks - 1 + i, i = 1, 40) /))
  do i = 1, 3000
    values(i) = rank * 2 + i
  end do
  call MPI_Allreduce(values, results, 3000, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  right = right .and. all(results == (/ (2 * total + dble(ranks) * i, i = 1, 3000) /))
  call MPI_Scan(rank, own, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  right = right .and. own == rank * (rank + 1) / 2
  own = -1
  call MPI_Exscan(rank, own, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank > 0) right = right .and. own == rank * (rank - 1) / 2

  z = cmplx(rank, 1)
  call MPI_Allreduce(z, z_sum, 1, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierr)
  right = right .and. z_sum == cmplx(total, ranks)
  yes = rank /= 1
  call MPI_Allreduce(yes, all_yes, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierr)
  right = right .and. (all_yes .eqv. ranks < 2)
  pair = (/ dble(mod(rank + 1, ranks)), dble(rank) /)
  call MPI_Allreduce(pair, best, 1, MPI_2DOUBLE_PRECISION, MPI_MAXLOC, MPI_COMM_WORLD, ierr)
  right = right .and. best(1) == ranks - 1 .and. best(2) == max(ranks - 2, 0)

  call MPI_Op_create(first_of_both, .false., op, ierr)
  call MPI_Allreduce(numbers, sums, 40, MPI_INTEGER, op, MPI_COMM_WORLD, ierr)
  right = right .and. all(sums == (/ (i, i = 1, 40) /))
  call MPI_Op_free(op, ierr)

  if (rank == ranks - 1) values = 5
  call MPI_Bcast(values, 3000, MPI_DOUBLE_PRECISION, ranks - 1, MPI_COMM_WORLD, ierr)
  right = right .and. all(values == 5)

  allocate(table(2 * ranks), turned(2 * ranks))
  table = -1
  table(2 * rank + 1) = rank
  table(2 * rank + 2) = rank * 10
  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, table, 2, MPI_INTEGER, MPI_COMM_WORLD, ierr)
  do i = 1, ranks
    right = right .and. table(2 * i - 1) == i - 1 .and. table(2 * i) == (i - 1) * 10
  end do
  do i = 1, ranks
    table(2 * i - 1) = rank * 100 + i
    table(2 * i) = -rank
  end do
  call MPI_Alltoall(table, 2, MPI_INTEGER, turned, 2, MPI_INTEGER, MPI_COMM_WORLD, ierr)
  do i = 1, ranks
    right = right .and. turned(2 * i - 1) == (i - 1) * 100 + rank + 1 .and. turned(2 * i) == 1 - i
  end do

  call MPI_Type_vector(2, 1, 2, MPI_INTEGER, pair_type, ierr)
  call MPI_Type_commit(pair_type, ierr)
  numbers = rank
  call MPI_Bcast(numbers, 1, pair_type, 0, MPI_COMM_WORLD, ierr)
  right = right .and. numbers(1) == 0 .and. numbers(2) == rank .and. numbers(3) == 0
  call MPI_Type_free(pair_type, ierr)

  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half, ierr)
  call MPI_Comm_size(half, part_ranks, ierr)
  call MPI_Allreduce(1, part, 1, MPI_INTEGER, MPI_SUM, half, ierr)
  right = right .and. part == part_ranks
  call MPI_Comm_free(half, ierr)

  numbers = rank + 1
  sums = 0
  if (rank == 0) values(1:2) = 7
  call MPI_Iallreduce(numbers, sums, 40, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(1), ierr)
  call MPI_Ibcast(values, 2, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, requests(2), ierr)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
  right = right .and. all(sums == ranks * (ranks + 1) / 2) .and. values(2) == 7
  call MPI_Ibarrier(MPI_COMM_WORLD, requests(1), ierr)
  done = .false.
  do while (.not. done)
    call MPI_Test(requests(1), done, MPI_STATUS_IGNORE, ierr)
  end do

#if defined(WITH_PERSISTENT)
  call MPI_Allreduce_init(numbers, sums, 40, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1), ierr)
  do i = 1, 3
    numbers = rank + i
    call MPI_Start(requests(1), ierr)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierr)
    right = right .and. all(sums == total + ranks * i)
  end do
  call MPI_Request_free(requests(1), ierr)
#endif

  call MPI_Reduce(right, all_yes, 1, MPI_LOGICAL, MPI_LAND, 0, MPI_COMM_WORLD, ierr)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  if (rank == 0 .and. all_yes) print '(a)', 'right'
  call MPI_Finalize(ierr)
end program collectives

! a op b = a: not commutative. The result has rank 0's numbers.
#if defined(WITH_F08)
subroutine first_of_both(a, b, n, kind)
  use mpi_f08
  use, intrinsic :: iso_c_binding, only : c_ptr, c_f_pointer
  implicit none
  type(c_ptr), value :: a, b
  integer :: n
  type(MPI_Datatype) :: kind
  integer, pointer :: from(:), to(:)
  call c_f_pointer(a, from, (/ n /))
  call c_f_pointer(b, to, (/ n /))
  to = from
end subroutine first_of_both
#else
subroutine first_of_both(a, b, n, kind)
  implicit none
  integer :: n, kind
  integer :: a(n), b(n)
  b = a
end subroutine first_of_both
#endif
