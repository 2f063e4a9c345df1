#include "tests/host/problem.h"

#include <sstream>

#include "tests/catch.h"
#include "tests/host/hand_exchanged.h"

namespace {

using hand_woven::Fault;

bool has_shares(const Problem& problem) {
  return problem.row().has_shares(problem.access);
}

// The division that the planner would choose (plan.h).
tilepost_division_t division_of(const Problem& problem) {
  const bool overlaps = problem.transport != TILEPOST_TRANSPORT_NONE;
  if (!has_shares(problem)) return TILEPOST_DIVISION_ROWS;
  if (problem.row().moves_input())
    return overlaps ? TILEPOST_DIVISION_ARRIVALS : TILEPOST_DIVISION_ROWS;
  if (problem.layout == TILEPOST_TILE) return TILEPOST_DIVISION_COLUMNS;
  if (problem.access == TILEPOST_ACCESS_TILES) return TILEPOST_DIVISION_ROWS;
  return overlaps && problem.routing != TILEPOST_ROUTING_ROWS ? TILEPOST_DIVISION_SHARES
                                                              : TILEPOST_DIVISION_ROWS;
}

template <tilepost::Layout kLayout, class Element, bool kStores = false>
tilepost_host_kernel_t choose_fault(Fault fault) {
  constexpr int kM = Problem::kTileM, kN = Problem::kTileN;
  switch (fault) {
    case Fault::swapped_rows:
      return hand_woven::kernel<kLayout, kM, kN, Element, Fault::swapped_rows, false, false,
                                kStores>;
    case Fault::missing_signal:
      return hand_woven::kernel<kLayout, kM, kN, Element, Fault::missing_signal, false, false,
                                kStores>;
    case Fault::early_signal:
      return hand_woven::kernel<kLayout, kM, kN, Element, Fault::early_signal, false, false,
                                kStores>;
    case Fault::late_return:
      return hand_woven::kernel<kLayout, kM, kN, Element, Fault::late_return, false, false,
                                kStores>;
    case Fault::none:
    case Fault::early_launch:
      break;
  }
  return hand_woven::kernel<kLayout, kM, kN, Element, Fault::none, false, false, kStores>;
}

template <tilepost::Layout kLayout, class Element>
tilepost_host_kernel_t choose_kind(const Problem& problem) {
  constexpr int kM = Problem::kTileM, kN = Problem::kTileN;
  if (problem.access == TILEPOST_ACCESS_TILES) return hand_exchanged::choose(problem);
  if (problem.routing == TILEPOST_ROUTING_ROWS && problem.row().product_is_routed())
    return hand_woven::kernel<kLayout, kM, kN, Element, Fault::none, true, false>;
  const bool launched = problem.neighbours || problem.fault == Fault::early_launch;
  if (division_of(problem) == TILEPOST_DIVISION_ARRIVALS && launched)
    return hand_woven::kernel<kLayout, kM, kN, Element, Fault::none, false, false, false, false>;
  if (division_of(problem) == TILEPOST_DIVISION_ARRIVALS)
    return hand_woven::kernel<kLayout, kM, kN, Element, Fault::none, false, true>;
  if constexpr (kLayout == tilepost::Layout::panel)
    if (problem.access == TILEPOST_ACCESS_WRITE)
      return choose_fault<kLayout, Element, true>(problem.fault);
  return choose_fault<kLayout, Element>(problem.fault);
}

template <tilepost::Layout kLayout>
tilepost_host_kernel_t choose_type(const Problem& problem) {
  return problem.type == TILEPOST_BF16 ? choose_kind<kLayout, tilepost::Bf16>(problem)
                                       : choose_kind<kLayout, tilepost::F16>(problem);
}

// Cuts `units` into at most `groups` ranges. All ends but the last are multiples of `step`.
std::vector<int32_t> make_cuts(int units, int groups, int step) {
  std::vector<int32_t> cuts;
  for (int g = 1; g < groups; ++g) {
    const int cut = units * g / groups / step * step;
    if (cut > (cuts.empty() ? 0 : cuts.back())) cuts.push_back(cut);
  }
  cuts.push_back(units);
  return cuts;
}

std::vector<int32_t> cuts_of(const Problem& problem, const tilepost_map_t& map) {
  const bool one =
      problem.transport == TILEPOST_TRANSPORT_NONE || problem.access == TILEPOST_ACCESS_TILES;
  const int groups = one ? 1 : problem.groups;
  const int rows = tilepost::tiles_m(map);
  const int padded = (rows + problem.cluster - 1) / problem.cluster * problem.cluster;
  std::vector<int32_t> cuts;
  switch (map.division) {
    case TILEPOST_DIVISION_ROWS:
      return problem.layout == TILEPOST_PANEL
                 ? make_cuts(rows, groups, problem.cluster)
                 : make_cuts(padded * tilepost::tiles_n(map), groups, 1);
    case TILEPOST_DIVISION_SHARES:
      return make_cuts(tilepost::share_tiles(map), groups, 1);
    case TILEPOST_DIVISION_COLUMNS:
      return make_cuts(tilepost::tiles_n(map), groups, 1);
    case TILEPOST_DIVISION_ARRIVALS:
      cuts = make_cuts(tilepost::arriving_tiles(map), groups, 1);
      cuts.insert(cuts.begin(), 0);
      break;
  }
  return cuts;
}

bool keeps_slots(const Problem& problem) {
  return problem.layout == TILEPOST_TILE && problem.consumer == TILEPOST_CONSUMER_NONE;
}

}  // namespace

Program::Program(const Problem& problem) {
  tilepost_map_t map{};
  map.m = problem.most_rows();
  map.n = problem.n;
  map.tile_m = Problem::kTileM;
  map.tile_n = Problem::kTileN;
  map.cluster = problem.cluster;
  map.band = problem.band;
  map.signals_per_tile = 1;
  map.layout = problem.layout;
  map.division = division_of(problem);
  map.ranks = has_shares(problem) ? problem.ranks : 1;
  if (map.division == TILEPOST_DIVISION_SHARES) map.stagger = problem.stagger;
  map.round_robin =
      map.division == TILEPOST_DIVISION_ARRIVALS && problem.access == TILEPOST_ACCESS_READ;
  cuts_ = cuts_of(problem, map);
  map.num_groups = static_cast<int32_t>(cuts_.size());
  map.cuts = cuts_.data();
  map_ = tilepost::build_tile_map(map);

  plan_.pattern = problem.pattern;
  plan_.routing = problem.routing;
  plan_.any_m = problem.any_m;
  if (problem.row().input_is_routed()) plan_.rows_sent = problem.m;
  plan_.ranks = problem.ranks;
  plan_.k = problem.k;
  plan_.input = plan_.output = problem.type;
  plan_.map = map;
  plan_.gemm_ctas = 2;
  plan_.kernel.cluster = problem.cluster;
  plan_.map_hash = tilepost::hash_tile_map(map_);
  plan_.transport = problem.transport;
  plan_.access = problem.access;
  plan_.sum = problem.sum;
  plan_.shots = problem.shots;
  if (problem.access == TILEPOST_ACCESS_TILES)
    plan_.kernel.box_c.rows = hand_exchanged::box_rows(problem);
  plan_.pushes = problem.pushes;
  plan_.neighbours = problem.neighbours ? 1 : 0;
  plan_.consumer = problem.consumer;
  plan_.groups = map_.groups.data();
  plan_.kernel.name = "hand_woven";
  plan_.kernel.launch = TILEPOST_LAUNCH_HOST;
  plan_.kernel.host_function = problem.layout == TILEPOST_PANEL
                                   ? choose_type<tilepost::Layout::panel>(problem)
                                   : choose_type<tilepost::Layout::tile>(problem);
  program_ = {TILEPOST_ABI_VERSION, "hand_woven", 1, &plan_};
}

Comms::Comms(int world) : comms_(world) {
  REQUIRE(tilepost_comm_create_host(world, comms_.data()) == TILEPOST_OK);
}

Comms::~Comms() {
  for (tilepost_comm_t comm : comms_) tilepost_comm_destroy(comm);
}

Ops::Ops(const Comms& comms, const tilepost_program_t& program, int ranks, double deadline,
         int workers, bool share) {
  tilepost_options_t options = tilepost_default_options();
  options.deadline_seconds = deadline;
  options.host_workers = workers;
  options.share_memory = share ? 1 : 0;
  for (int rank = 0; rank < ranks; ++rank) {
    tilepost_op_t op = nullptr;
    const auto result = tilepost_op_create(comms[rank], &program, &options, &op);
    INFO(tilepost_last_error());
    REQUIRE(result == TILEPOST_OK);
    ops_.push_back(op);
  }
}

Ops::~Ops() {
  for (tilepost_op_t op : ops_) tilepost_op_destroy(op);
}

Data::Data(const Problem& what, bool integers, std::mt19937_64& random) : problem(what) {
  std::vector<reference::Matrix> terms;
  for (int rank = 0; rank < problem.ranks; ++rank) {
    a.push_back(reference::random_matrix(problem.type, problem.m, problem.k, integers, random));
    b.push_back(reference::random_matrix(problem.type, problem.n, problem.k, integers, random));
    terms.push_back(
        reference::gemm(problem.type, a[rank], b[rank], problem.m, problem.n, problem.k, integers));
  }
  expected = reference::sum(problem.type, terms, integers);
  // The old content of the output must not matter, so it gets numbers that would show.
  const int64_t slots = (problem.m + 31) / 16 * 16 * ((problem.n + 7) / 8 * 8);
  const int64_t elements = keeps_slots(problem) ? slots : problem.m * problem.n;
  for (int rank = 0; rank < problem.ranks; ++rank)
    out.push_back(reference::random_matrix(problem.type, 1, elements, false, random));
}

tilepost_result_t Data::run(const Ops& ops, int rank) {
  return tilepost_op_run(ops[rank], a[rank].data(), b[rank].data(), out[rank].data(), nullptr);
}

void Data::run(const Ops& ops) {
  for (int rank = 0; rank < problem.ranks; ++rank) {
    const auto result = run(ops, rank);
    INFO(tilepost_last_error());
    REQUIRE(result == TILEPOST_OK);
  }
}

std::string Data::compare(const Program& program) const {
  const tilepost::TileMap& map = program.map();
  const int64_t columns = (problem.n + Problem::kTileN - 1) / Problem::kTileN;
  for (int rank = 0; rank < problem.ranks; ++rank)
    for (int64_t row = 0; row < problem.m; ++row)
      for (int64_t col = 0; col < problem.n; ++col) {
        int64_t place = row * problem.n + col;
        const uint16_t want = expected[place];
        if (keeps_slots(problem)) {
          const int64_t tile = row / Problem::kTileM * columns + col / Problem::kTileN;
          const int64_t line = map.tiles[map.positions[tile]].row + row % Problem::kTileM;
          place = line * Problem::kTileN + col % Problem::kTileN;
        }
        if (out[rank][place] == want) continue;
        std::ostringstream text;
        text << "rank " << rank << " (" << row << ", " << col
             << "): " << reference::decode(problem.type, out[rank][place]) << " instead of "
             << reference::decode(problem.type, want);
        return text.str();
      }
  return "";
}

std::string run_and_compare(const Problem& problem, bool integers, uint64_t seed, double deadline) {
  std::mt19937_64 random(seed);
  Data data(problem, integers, random);
  const Program program(problem);
  const Comms comms(problem.ranks);
  const Ops ops(comms, program.get(), problem.ranks, deadline);
  data.run(ops);
  for (int rank = 0; rank < problem.ranks; ++rank)
    if (tilepost_op_synchronize(ops[rank]) != TILEPOST_OK) return tilepost_last_error();
  return data.compare(program);
}
