// Helper warps beside a GEMM (device/tasks.cuh). Their sums must be right for any number of parts
// and any size, here and where they are pushed to. Moves may come between sums, moved rows may be
// in place already, and rows of parts may have gaps. It also measures how long the GEMM takes
// beside them.
//
//   tasks check          every configuration against sums on the host
//   tasks time           beside a GEMM of 8192 x 8192 x 2048
//
// The template is woven by hand: its view has only tasks.
#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/gpu/plain_launch.cuh"
#include "tilepost/device/woven.cuh"

__device__ __constant__ tilepost_tasks_t task_list;

namespace tilepost {
template <int kParts>
struct TaskView : woven::View {
  static constexpr int kTileM = 1, kTileN = 1, kTaskParts = kParts;
  static constexpr bool kPushes = true;
};

template <int kParts>
__device__ __forceinline__ void helper_warp_of(HelperMemory memory, DType type, int storers,
                                               int /*finishers: of whole runs*/) {
  TaskView<kParts> view;
  view.tasks = task_list;
  woven::helper_warp(view, memory, type, storers);
}
}  // namespace tilepost

#define tunable(name, fallback) configured(CONFIG, name, fallback)
#define helper_warp helper_warp_of<PARTS>
#define CONFIG "HELPER_BYTES=0"
#define PARTS 0
namespace plain_kernel {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#undef PARTS
#define CONFIG "HELPER_BYTES=16512"
#define PARTS 1
namespace parts1 {
#include "templates/gemm_sm90.cu"
}
#undef PARTS
#define PARTS 2
namespace parts2 {
#include "templates/gemm_sm90.cu"
}
#undef PARTS
#define PARTS 3
namespace parts3 {
#include "templates/gemm_sm90.cu"
}
#undef PARTS
#define PARTS 4
namespace parts4 {
#include "templates/gemm_sm90.cu"
}
#undef PARTS
#undef CONFIG
#define CONFIG "HELPER_BYTES=16512 ELEMENT=1 OUTPUT=1"
#define PARTS 8
namespace parts8_f16 {
#include "templates/gemm_sm90.cu"
}
#undef PARTS
#undef CONFIG
#undef helper_warp
#undef tunable

namespace {

constexpr int kCtas = 132;
constexpr int kSkipped = 77;
constexpr int kHelper = 16512;

template <class T>
T* device_copy(const std::vector<T>& values) {
  T* copy = nullptr;
  CUDA(cudaMalloc(&copy, values.size() * sizeof(T)));
  CUDA(cudaMemcpy(copy, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return copy;
}

// Ranks to which sums are pushed: this rank, and two others that are imitated in its memory.
constexpr int kRanks = 3;

enum class Pushes { none, moved, in_place };

// How the rows of parts lie: each has `length` elements and a gap behind it. 0: parts have no rows.
struct Rows {
  int64_t length = 0, gap = 0;

  // The place of element `i` of a part.
  int64_t at(int64_t i) const { return length == 0 ? i : i + i / length * gap; }
};

// Tasks over `elements` elements of `parts` parts, in `count` tasks of unequal sizes and whole
// rows. With `moved` each sum has a task behind it that moves what has landed at the second rank to
// `moved`. With `in_place` pushes land in `out` and stay there.
struct Tasks {
  int parts;
  int64_t elements;
  Pushes kind;
  Rows rows;
  bool pushes = kind != Pushes::none;
  std::vector<uint16_t> in;  // parts x elements, small whole numbers
  int64_t landed = 0;        // the first element of where pushes land, behind the parts
  uint16_t *out, *moved, *there[kRanks];
  uint32_t* counters[kRanks];
  std::vector<tilepost_task_t> list;
  std::vector<uint32_t> chunks;
  tilepost_tasks_t tasks{};

  Tasks(int parts_, int64_t elements_, int count, Pushes kind_, bool f16, Rows rows_ = {})
      : parts(parts_), elements(elements_), kind(kind_), rows(rows_), in(parts_ * elements_) {
    std::mt19937 random(parts);
    for (uint16_t& value : in) {
      const float number = static_cast<float>(static_cast<int>(random() % 17) - 8);
      value = f16 ? __half_as_ushort(__float2half(number))
                  : __bfloat16_as_ushort(__float2bfloat16(number));
    }
    // By the tasks' offsets, the sums to be moved lie behind the parts.
    const int64_t part = rows.at(elements);
    landed = parts * part;
    std::vector<uint16_t> all(landed + elements, 0xFFFF);
    for (int64_t i = 0; i < parts * elements; ++i)
      all[i / elements * part + rows.at(i % elements)] = in[i];
    uint16_t* from = device_copy(all);
    out = device_copy(std::vector<uint16_t>(2 * elements, 0xFFFF));
    moved = out + elements;
    for (int rank = 0; rank < kRanks; ++rank) {
      there[rank] =
          rank == 1 ? from + landed : device_copy(std::vector<uint16_t>(elements, 0xFFFF));
      counters[rank] = device_copy(std::vector<uint32_t>(count * TILEPOST_COUNTER_STRIDE));
    }
    int64_t at = 0;
    for (int j = 0; j < count; ++j) {
      const int64_t unit = rows.length == 0 ? 8 : rows.length;
      const int64_t end = j + 1 == count ? elements : elements * (j + 1) / count / unit * unit;
      add(j, at * 2, (end - at) * 2);
      at = end;
    }
    if (kind == Pushes::in_place) there[0] = out;
    const auto* word = device_copy(std::vector<uint32_t>(1));
    const std::vector<void*> places(there, there + kRanks);
    const std::vector<uint32_t*> raised(counters, counters + kRanks);
    tasks.list = device_copy(list);
    tasks.stride = part * 2;
    tasks.row_bytes = static_cast<int>(rows.length * 2);
    tasks.row_gap = static_cast<int>(rows.gap * 2);
    tasks.in = from;
    tasks.out = out;
    tasks.there = device_copy(places);
    tasks.raise = device_copy(raised);
    tasks.stored = counters[1];
    tasks.expected = device_copy(chunks);
    tasks.abort = word;
    tasks.count = static_cast<int>(list.size());
    tasks.ranks = kRanks;
  }

  void add(int number, int64_t at, int64_t bytes) {
    const int chunk = tilepost::task_chunk_bytes(kHelper, parts);
    chunks.push_back(static_cast<uint32_t>(tilepost::task_chunks(bytes, chunk)));
    const int64_t stored = rows.at(at / 2) * 2;
    list.push_back({stored, at, pushes ? at : -1, bytes, parts, -1, number, -1});
    if (pushes) list.push_back({landed * 2 + at, elements * 2 + at, -1, bytes, 1, number, 0, -1});
  }

  // Whether every counter has what one run adds.
  bool counted() const {
    for (int rank = 0; rank < kRanks; ++rank)
      for (size_t j = 0; j < chunks.size(); ++j) {
        uint32_t count = 0;
        CUDA(cudaMemcpy(&count, counters[rank] + j * TILEPOST_COUNTER_STRIDE, sizeof count,
                        cudaMemcpyDeviceToHost));
        if (count != (pushes && rank > 0 ? chunks[j] : 0)) return false;
      }
    return true;
  }

  // Whether nothing was moved.
  bool is_untouched() const {
    std::vector<uint16_t> got(elements);
    CUDA(cudaMemcpy(got.data(), moved, got.size() * 2, cudaMemcpyDeviceToHost));
    return std::all_of(got.begin(), got.end(), [](uint16_t value) { return value == 0xFFFF; });
  }

  void use(int number) {
    tilepost_tasks_t used = tasks;
    used.count = number;
    CUDA(cudaMemcpyToSymbol(task_list, &used, sizeof used));
  }
};

float number_of(uint16_t bits, bool f16) {
  return f16 ? __half2float(__ushort_as_half(bits)) : __bfloat162float(__ushort_as_bfloat16(bits));
}

bool check_sums(const Tasks& tasks, const uint16_t* result, bool f16, const char* name) {
  std::vector<uint16_t> got(tasks.elements);
  CUDA(cudaMemcpy(got.data(), result, got.size() * 2, cudaMemcpyDeviceToHost));
  for (int64_t i = 0; i < tasks.elements; ++i) {
    float sum = 0;
    for (int p = 0; p < tasks.parts; ++p) sum += number_of(tasks.in[p * tasks.elements + i], f16);
    if (number_of(got[i], f16) == sum) continue;
    std::printf("FAIL: %s, %lld elements: element %lld is %g, not %g\n", name,
                static_cast<long long>(tasks.elements), static_cast<long long>(i),
                number_of(got[i], f16), sum);
    return false;
  }
  return true;
}

plain::Launch launch_of(const plain::Kernel& kernel, int m, int n, int k, void* memory) {
  const tilepost_shape_t shape{m, n, k, k, k, n};
  const plain::Operands operands{memory, memory, static_cast<char*>(memory) + (size_t{64} << 20)};
  return {kernel, shape, operands, kCtas};
}

// Checks that a kernel whose tasks are all done does not end before sums in place have come.
bool check_waits(const plain::Kernel& kernel, int parts, bool f16, void* memory) {
  constexpr int kCount = 5, kLate = 3;
  Tasks tasks(parts, 8 * 132 * 512, kCount, Pushes::in_place, f16);
  const uint32_t expected = tasks.chunks[kLate] + 1;
  CUDA(cudaMemcpy(const_cast<uint32_t*>(tasks.tasks.expected) + kLate, &expected, sizeof expected,
                  cudaMemcpyHostToDevice));
  tasks.use(tasks.tasks.count);
  cudaStream_t running, beside;
  CUDA(cudaStreamCreateWithFlags(&running, cudaStreamNonBlocking));
  CUDA(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
  launch_of(kernel, 1024, 1024, 256, memory)(running);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const bool waits = cudaStreamQuery(running) == cudaErrorNotReady;
  uint32_t* counter = tasks.counters[1] + kLate * TILEPOST_COUNTER_STRIDE;
  CUDA(cudaMemcpyAsync(counter, &expected, sizeof expected, cudaMemcpyHostToDevice, beside));
  CUDA(cudaStreamSynchronize(running));
  CUDA(cudaStreamSynchronize(beside));
  CUDA(cudaStreamDestroy(running));
  CUDA(cudaStreamDestroy(beside));
  if (!waits) std::printf("FAIL: %s ended before all that is in place had come\n", kernel.name);
  return waits && check_sums(tasks, tasks.out, f16, kernel.name);
}

bool check_tasks(const plain::Kernel& kernel, Tasks& tasks, bool f16, void* memory) {
  tasks.use(tasks.tasks.count);
  launch_of(kernel, 1024, 1024, 256, memory)(nullptr);
  CUDA(cudaDeviceSynchronize());
  bool ok = check_sums(tasks, tasks.out, f16, kernel.name);
  for (const uint16_t* there : {tasks.there[1], tasks.there[2]})
    ok = ok && (!tasks.pushes || check_sums(tasks, there, f16, kernel.name));
  ok = ok && (tasks.kind != Pushes::moved || check_sums(tasks, tasks.moved, f16, kernel.name));
  return ok && (tasks.kind == Pushes::moved || tasks.is_untouched()) && tasks.counted();
}

// Checks rows that are longer than a chunk, and chunks that are longer than several rows.
bool check(const plain::Kernel& kernel, int parts, bool f16, void* memory) {
  bool ok = true;
  for (const Pushes kind : {Pushes::none, Pushes::moved, Pushes::in_place}) {
    if (parts == 1 && kind == Pushes::in_place) continue;  // such kernels only move
    for (const int64_t elements : {8, 1000, 8 * 132 * 512, 3'000'008}) {
      Tasks tasks(parts, elements, elements > 1000 ? 5 : 1, kind, f16);
      ok = ok && check_tasks(kernel, tasks, f16, memory);
    }
    // And where they move, there are no gaps or no rows to move.
    if (parts == 1 && kind == Pushes::moved) continue;
    for (const Rows rows : {Rows{8, 8}, Rows{72, 8}, Rows{520, 24}, Rows{4392, 8}}) {
      Tasks tasks(parts, rows.length * 613, 5, kind, f16, rows);
      ok = ok && check_tasks(kernel, tasks, f16, memory);
    }
  }
  ok = ok && (parts == 1 || check_waits(kernel, parts, f16, memory));
  std::printf("%s: %d parts\n", ok ? "ok" : "FAIL", parts);
  return ok;
}

float milliseconds(plain::Launch& launch) {
  cudaEvent_t begin, end;
  CUDA(cudaEventCreate(&begin));
  CUDA(cudaEventCreate(&end));
  float best = 1e9;
  for (int i = 0; i < 12; ++i) {
    CUDA(cudaEventRecord(begin));
    launch(nullptr);
    CUDA(cudaEventRecord(end));
    CUDA(cudaEventSynchronize(end));
    float ms = 0;
    CUDA(cudaEventElapsedTime(&ms, begin, end));
    best = std::min(best, ms);
  }
  CUDA(cudaEventDestroy(begin));
  CUDA(cudaEventDestroy(end));
  return best * 1000;
}

void time(const plain::Kernel& kernel, int parts, int64_t elements, void* memory) {
  Tasks tasks(parts, elements, 16, Pushes::none, false);
  plain::Launch gemm = launch_of(kernel, 8192, 8192, 2048, memory);
  plain::Launch alone = launch_of(TILEPOST_SM90(plain_kernel, true), 8192, 8192, 2048, memory);
  plain::Launch none = launch_of(kernel, 8192, 8192, 2048, memory);
  none.shape.m = 0;
  for (int round = 0; round < 3; ++round) {
    const float before = milliseconds(alone);
    tasks.use(0);
    const float idle = milliseconds(gemm);
    tasks.use(tasks.tasks.count);
    const float busy = milliseconds(gemm), only = milliseconds(none);
    std::printf(
        "%s: GEMM %.1f us, with an idle helper warp %.1f, beside tasks %.1f (%.3f); tasks "
        "alone %.1f us, %.0f GB/s of sums\n",
        kernel.name, before, idle, busy, busy / before, only, elements * 2e-3 / only);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int major = 0;
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) != cudaSuccess ||
      major != 9) {
    std::printf("SKIP: needs a GPU of sm_90\n");
    return kSkipped;
  }
  const std::string what = argc > 1 ? argv[1] : "check";
  void* memory = nullptr;
  CUDA(cudaMalloc(&memory, size_t{256} << 20));
  std::vector<uint16_t> random(size_t{32} << 20);
  std::mt19937 engine(1);
  for (uint16_t& value : random) {
    value = __bfloat16_as_ushort(__float2bfloat16(static_cast<float>(engine() % 2001) * 1e-3f - 1));
  }
  CUDA(cudaMemcpy(memory, random.data(), random.size() * 2, cudaMemcpyHostToDevice));
  if (what == "time") {
    time(TILEPOST_SM90(parts2, true), 2, int64_t{4096} * 8192, memory);
    time(TILEPOST_SM90(parts4, true), 4, int64_t{2048} * 8192, memory);
    time(TILEPOST_SM90(parts1, true), 1, int64_t{4096} * 8192, memory);
    return 0;
  }
  bool ok = check(TILEPOST_SM90(parts1, true), 1, false, memory);
  ok = check(TILEPOST_SM90(parts2, true), 2, false, memory) && ok;
  ok = check(TILEPOST_SM90(parts3, true), 3, false, memory) && ok;
  ok = check(TILEPOST_SM90(parts4, true), 4, false, memory) && ok;
  ok = check(TILEPOST_SM90(parts8_f16, true), 8, true, memory) && ok;
  std::printf(ok ? "PASS\n" : "FAIL\n");
  return ok ? 0 : 1;
}
