// Runs ffn_down under torchrun, without torch: a process per rank, which sockets give the id.
//
//   torchrun --no-python --nproc-per-node 4 build/build_time_torchrun
#include <cstring>

#include "rank_cuda.h"
#include "share_id.h"

namespace {

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  if (value != nullptr && *value != '\0') return value;
  std::fprintf(stderr, "%s is not set; start this program with torchrun\n", name);
  std::exit(1);
}

int number(const char* name) {
  return std::atoi(variable(name));
}

}  // namespace

int main() {
  const int rank = number("RANK"), world = number("WORLD_SIZE");
  check_world(world);
  // At MASTER_PORT listens torchrun itself.
  const int port = number("MASTER_PORT") + 1;
  tilepost_unique_id_t id{};
  if (rank == 0) check(tilepost_get_unique_id(&id));
  if (const std::string problem = share_id(rank, world, variable("MASTER_ADDR"), port, id);
      !problem.empty()) {
    std::fprintf(stderr, "rank %d: %s\n", rank, problem.c_str());
    return 1;
  }
  return report(rank, run_and_check(rank, device_of(number("LOCAL_RANK")), id));
}
