// Transport host_copies, and machines whose GPUs do not reach each other's memory.
#include "generator/emit/plan_json.h"
#include "generator/plan/report/memory.h"
#include "runtime/map/host_rings.h"
#include "tests/catch.h"
#include "tests/unit/plan/only_plan.h"

namespace tilepost::test {
namespace {

// A machine of two GPUs without peer access, where NCCL carries what two H100 carried with
// NCCL_P2P_DISABLE=1: 24.5 GB/s out of each GPU with as many CTAs as it likes.
MachineProfile slow_machine() {
  MachineProfile machine = default_machine();
  machine.name = "2 x H100, no peer access";
  machine.peers.peer_access = false;
  constexpr double kUsPerMib = (1 << 20) / 24.5e3;
  for (CollectiveProfiles* profiles :
       {&machine.collectives.sequence, &machine.collectives.groups, &machine.collectives.symmetric})
    for (auto& [kind, collective] : *profiles) collective.wire_us_per_mib = {{2, kUsPerMib}};
  return machine;
}

Plan only_on(const MachineProfile& machine, const Spec& spec) {
  const Planned result = plan(spec, machine);
  INFO(result.messages);
  REQUIRE(result.errors == 0);
  REQUIRE(result.plans.size() == 1);
  return result.plans.front();
}

Spec of_two(tilepost_pattern_t pattern, std::optional<tilepost_transport_t> transport,
            int64_t m = 4096, int64_t k = 8192) {
  Spec spec = spec_of(pattern, transport, m, k);
  spec.ranks.value = 2;
  return spec;
}

int64_t bytes_of(const Plan& plan, std::string_view name) {
  for (const PlannedMemory& part : planned_memory(plan))
    if (part.name == name) return part.bytes;
  return 0;
}

}  // namespace

TEST_CASE("where GPUs do not reach each other, the planner chooses copies through the host") {
  for (const tilepost_pattern_t pattern : kCommunicating) {
    INFO(name_of(pattern));
    const Plan p = only_on(slow_machine(), of_two(pattern, std::nullopt));
    CHECK(p.planned_transport == TILEPOST_TRANSPORT_HOST_COPIES);
    CHECK(p.access == TILEPOST_ACCESS_MESSAGES);
    CHECK(p.prediction.total < p.prediction.sequence);
    CHECK(verify_plan(p).empty());
  }
}

TEST_CASE("no transport that needs peer access is offered without it, whatever the shape") {
  MachineProfile machine = slow_machine();
  for (const bool copies : {true, false}) {
    machine.peers.host_copies.available = copies;
    for (const tilepost_pattern_t pattern : kCommunicating)
      for (const int64_t m : {1, 16, 300, 4096})
        for (const int64_t ranks : {2, 4, 16}) {
          Spec spec = of_two(pattern, std::nullopt, m, 2048);
          spec.ranks.value = ranks;
          INFO(name_of(pattern) << " " << m << " rows, " << ranks << " ranks, copies " << copies);
          const Plan p = only_on(machine, spec);
          CHECK(p.access == TILEPOST_ACCESS_MESSAGES);
          if (!copies || ranks > 8) CHECK(p.planned_transport != TILEPOST_TRANSPORT_HOST_COPIES);
        }
  }
}

TEST_CASE("where GPUs reach each other, copies through the host are never chosen unasked") {
  for (const tilepost_pattern_t pattern : kCommunicating)
    for (const int64_t m : {16, 1000, 8192}) {
      MachineProfile machine = default_machine();
      machine.peers.host_copies = {true, {{2, 0.001}}, 0, 0, 1, 1, 1};  // faster than anything
      CHECK(only_on(machine, of_two(pattern, std::nullopt, m)).planned_transport !=
            TILEPOST_TRANSPORT_HOST_COPIES);
    }
}

TEST_CASE("a spec that names what its machine does not have is refused, with both names") {
  for (const tilepost_transport_t transport : kSharing) {
    const Planned result = plan(of_two(TILEPOST_GEMM_REDUCE_SCATTER, transport), slow_machine());
    CHECK(result.errors == 1);
    CHECK_THAT(result.messages,
               Catch::Contains(name_of(transport)) && Catch::Contains("2 x H100, no peer access") &&
                   Catch::Contains("peers.peer_access: 0") && Catch::Contains("'host_copies'"));
  }
  MachineProfile machine = slow_machine();
  machine.peers.host_copies.available = false;
  const Planned result =
      plan(of_two(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_HOST_COPIES), machine);
  CHECK(result.errors == 1);
  CHECK_THAT(result.messages, Catch::Contains("peers.host_copies.available: 0"));
  // The host target needs nothing of a machine.
  Spec twin = of_two(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_PEER, 100, 64);
  twin.archs.value = {Arch::host};
  CHECK(plan(twin, machine).errors == 0);
}

TEST_CASE("copies through the host serve every pattern, layout and routing that nccl serves") {
  for (const tilepost_pattern_t pattern : kCommunicating)
    for (const auto layout : {TILEPOST_PANEL, TILEPOST_TILE})
      for (const auto routing :
           {TILEPOST_ROUTING_EVEN, TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS})
        for (const int64_t m : {1, 129, 1000})
          for (const int64_t ranks : {1, 2, 3, 8}) {
            if (!row_of(pattern).routes() && routing != TILEPOST_ROUTING_EVEN) continue;
            Spec spec = of_two(pattern, TILEPOST_TRANSPORT_HOST_COPIES, m, 264);
            spec.gemm.n.value = 1032;
            spec.ranks.value = ranks;
            spec.routing.value = routing;
            spec.schedule.layout.value = layout;
            Spec by_nccl = spec;
            by_nccl.transport.value = TILEPOST_TRANSPORT_NCCL;
            INFO(name_of(pattern) << " " << name_of(layout) << " " << name_of(routing) << " " << m
                                  << " rows, " << ranks << " ranks");
            const Planned one = plan(spec), other = plan(by_nccl);
            CHECK(one.errors == other.errors);
            for (const Plan& p : one.plans) {
              CHECK(verify_plan(p).empty());
              CHECK(verify_plan(host_twin(p)).empty());
              CHECK(p.comm_ctas >= 1);
            }
          }
}

TEST_CASE("the memory of copies through the host is told: rings on the host, parts on the device") {
  const auto p = [](tilepost_pattern_t pattern, int64_t ranks) {
    Spec spec = of_two(pattern, TILEPOST_TRANSPORT_HOST_COPIES, 8192, 1024);
    spec.ranks.value = ranks;
    return only(spec);
  };
  constexpr int64_t kMib = 1 << 20;
  CHECK(bytes_of(p(TILEPOST_GEMM_REDUCE_SCATTER, 2), "rings") == 16 * kMib);
  CHECK(bytes_of(p(TILEPOST_GEMM_ALL_REDUCE, 4), "rings") == 2 * 3 * 16 * kMib);
  CHECK(bytes_of(p(TILEPOST_ALL_GATHER_GEMM, 4), "rings") == 3 * 16 * kMib);
  CHECK(bytes_of(p(TILEPOST_ALL_GATHER_GEMM, 4), "parts") == 0);
  const int64_t product = int64_t{8192} * 8192 * 2;
  const int64_t parts = bytes_of(p(TILEPOST_GEMM_ALL_REDUCE, 4), "parts");
  CHECK(parts >= product / 4 * 3);
  CHECK(parts < product / 4 * 3 + kMib);
  CHECK_THAT(describe_memory(p(TILEPOST_GEMM_REDUCE_SCATTER, 2)),
             Catch::Contains("16.0 MiB rings of pinned host memory"));
}

TEST_CASE("messages through the host are cut into about equal chunks that fit the ring") {
  constexpr int64_t kMib = 1 << 20;
  for (const int64_t most : {int64_t{256}, kMib, kHostChunkBytes})
    for (int64_t message = 1; message < 40 * kMib; message += message / 3 + 1) {
      const int64_t each = host_chunk_bytes(message, most);
      const int64_t chunks = (message + each - 1) / each, fewest = (message + most - 1) / most;
      INFO(message << " bytes in chunks of at most " << most << ": " << each);
      CHECK(each > 0);
      CHECK(each <= most);
      CHECK(chunks <= std::max(fewest, int64_t{message > kMib ? 2 : 1}));
      CHECK(chunks * each - message < each);
    }
  CHECK(host_chunk_bytes(kMib, kHostChunkBytes) == kMib);
  CHECK(host_chunk_bytes(2 * kMib, kHostChunkBytes) == kMib);
  CHECK(host_chunk_bytes(6 * kMib, kHostChunkBytes) == 3 * kMib);
  CHECK(host_chunk_bytes(12 * kMib, kHostChunkBytes) == 4 * kMib);
}

TEST_CASE("groups of an AllReduce never overlap where their parts come together") {
  for (const int ranks : {2, 3, 5, 8})
    for (const int64_t unit : {1, 7, 64, 1000})
      for (const int groups : {1, 2, 5, 9}) {
        tilepost_plan_t plan = {};
        plan.pattern = TILEPOST_GEMM_ALL_REDUCE;
        plan.ranks = ranks;
        plan.map.num_groups = groups;
        int64_t first = 0, end = 0;
        for (int group = 0; group < groups; ++group) {
          const int64_t count = unit * (group % 3 + 1);
          const HostParts parts = host_parts(ranks, group, first, count);
          CHECK(parts.each * ranks >= count);
          CHECK(parts.each % 8 == 0);
          CHECK(parts.slot % 8 == 0);
          CHECK(parts.slot >= end);
          end = parts.slot + parts.each;
          first += count;
        }
        CHECK(end <= host_part_stride(plan, first));
      }
}

}  // namespace tilepost::test
