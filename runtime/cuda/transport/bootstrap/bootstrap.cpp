#include "runtime/cuda/transport/bootstrap/bootstrap.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/cuda/device/check.h"
#include "tilepost/version.h"

namespace tilepost::cuda {
namespace {

constexpr const char* kCall = "tilepost_comm_init_with";

// By this number ranks recognise that what came is theirs.
constexpr int64_t kMagic = 0x54494c45504f5354;

// What a rank says of itself. It begins alike in all versions of the runtime.
struct Hello {
  int64_t magic, version;
  int64_t rank, world;
  int64_t result;                // tilepost_result_t of the rank's own checks
  HostSegment::Address address;  // of the memory that rank 0 has made
};

constexpr int64_t kVersion =
    TILEPOST_VERSION_MAJOR * 10000 + TILEPOST_VERSION_MINOR * 100 + TILEPOST_VERSION_PATCH;

// The calls of the caller's function, which are numbered for errors.
class Gathering {
 public:
  explicit Gathering(const Bootstrap& bootstrap) : bootstrap_(bootstrap) {}

  template <class T>
  tilepost_result_t gather(const T& own, std::vector<T>& all) {
    ++calls_;
    all.assign(static_cast<size_t>(bootstrap_.world), T{});
    const int result = bootstrap_.all_gather(&own, all.data(), sizeof own, bootstrap_.user);
    if (result != 0)
      return fail(TILEPOST_INVALID_ARGUMENT,
                  "%s: rank %d: all_gather returned %d in its call number %d; 0 means success",
                  kCall, bootstrap_.rank, result, calls_);
    if (std::memcmp(&all[static_cast<size_t>(bootstrap_.rank)], &own, sizeof own) == 0)
      return TILEPOST_OK;
    return fail(TILEPOST_INVALID_ARGUMENT,
                "%s: rank %d: in call number %d of all_gather this rank's %zu bytes did not come "
                "back at byte %zu of `all`; gather the bytes of all ranks in the order of ranks",
                kCall, bootstrap_.rank, calls_, sizeof own,
                sizeof own * static_cast<size_t>(bootstrap_.rank));
  }

 private:
  const Bootstrap& bootstrap_;
  int calls_ = 0;
};

tilepost_result_t check_hellos(const Bootstrap& bootstrap, const std::vector<Hello>& all) {
  for (size_t place = 0; place < all.size(); ++place) {
    const Hello& hello = all[place];
    if (hello.magic != kMagic)
      return fail(
          TILEPOST_INVALID_ARGUMENT,
          "%s: rank %d: what all_gather brought from rank %zu is not of a rank in this call", kCall,
          bootstrap.rank, place);
    if (hello.version != kVersion)
      return fail(TILEPOST_INVALID_ARGUMENT,
                  "%s: rank %zu has version %lld of the runtime and rank %d version %lld; link the "
                  "same version of tilepost on all ranks",
                  kCall, place, static_cast<long long>(hello.version), bootstrap.rank,
                  static_cast<long long>(kVersion));
    if (hello.rank != static_cast<int64_t>(place) || hello.world != bootstrap.world)
      return fail(
          TILEPOST_INVALID_ARGUMENT,
          "%s: in place of rank %zu of %d stands rank %lld of %lld; give every rank its own "
          "number, and gather in the order of ranks",
          kCall, place, bootstrap.world, static_cast<long long>(hello.rank),
          static_cast<long long>(hello.world));
  }
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank].result != TILEPOST_OK)
      return fail(static_cast<tilepost_result_t>(all[rank].result),
                  "%s: rank %zu has failed; its own error says why", kCall, rank);
  return TILEPOST_OK;
}

// Makes an id of NCCL on rank 0, and sends it to all.
tilepost_result_t share_id(const Bootstrap& bootstrap, Gathering& gathering,
                           tilepost_unique_id_t& id) {
  struct Told {
    int64_t result;
    tilepost_unique_id_t id;
  };
  Told own{TILEPOST_OK, {}};
  std::string text;
  if (bootstrap.rank == 0) {
    own.result = make_unique_id(own.id);
    if (own.result != TILEPOST_OK) text = tilepost_last_error();
  }
  std::vector<Told> all;
  TILEPOST_TRY(gathering.gather(own, all));
  if (!text.empty()) return fail(static_cast<tilepost_result_t>(own.result), "%s", text.c_str());
  if (all[0].result != TILEPOST_OK)
    return fail(static_cast<tilepost_result_t>(all[0].result),
                "%s: rank 0 got no id from NCCL; its own error says why", kCall);
  id = all[0].id;
  return TILEPOST_OK;
}

}  // namespace

static_assert(sizeof(tilepost_unique_id_t) >= sizeof(ncclUniqueId));

tilepost_result_t make_unique_id(tilepost_unique_id_t& id) {
  ncclUniqueId nccl_id;
  TILEPOST_NCCL(ncclGetUniqueId(&nccl_id));
  id = {};
  std::memcpy(id.bytes, &nccl_id, sizeof nccl_id);
  return TILEPOST_OK;
}

tilepost_result_t make_meeting(const Bootstrap& bootstrap, tilepost_result_t own,
                               Meeting& meeting) {
  const std::string text = own != TILEPOST_OK ? tilepost_last_error() : "";
  Gathering gathering(bootstrap);
  auto on_host = std::make_shared<HostMeeting>();
  Hello hello{kMagic, kVersion, bootstrap.rank, bootstrap.world, own, {}};
  if (bootstrap.rank == 0) hello.address = on_host->make(bootstrap.world);
  std::vector<Hello> hellos;
  TILEPOST_TRY(gathering.gather(hello, hellos));
  if (own != TILEPOST_OK) return fail(own, "%s", text.c_str());
  TILEPOST_TRY(check_hellos(bootstrap, hellos));
  const bool sees = on_host->join(hellos[0].address, bootstrap.rank, bootstrap.world);
  std::vector<int64_t> all_see;
  TILEPOST_TRY(gathering.gather(int64_t{sees}, all_see));
  if (std::ranges::all_of(all_see, [](int64_t one) { return one != 0; })) {
    meeting.on_host = std::move(on_host);
    return TILEPOST_OK;
  }
  return share_id(bootstrap, gathering, meeting.id);
}

}  // namespace tilepost::cuda
