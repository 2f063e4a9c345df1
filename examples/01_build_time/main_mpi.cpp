// Runs ffn_down under mpirun: a process per rank, which MPI gives the id.
//
//   mpirun -np 4 build/build_time_mpi
#include <mpi.h>

#include "rank_cuda.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, world = 0, local_rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  check_world(world);

  // Ranks of one host count its GPUs.
  MPI_Comm host;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
  MPI_Comm_rank(host, &local_rank);
  MPI_Comm_free(&host);

  tilepost_unique_id_t id{};
  if (rank == 0) check(tilepost_get_unique_id(&id));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);

  const int result = report(rank, run_and_check(rank, device_of(local_rank), id));
  MPI_Finalize();
  return result;
}
