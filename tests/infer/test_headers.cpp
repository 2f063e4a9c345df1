// Kernels that need headers of a CUDA Toolkit. Functions of these headers are executed in place, or
// not followed. Where there is no Toolkit, the cases pass with a note.
#include <iostream>
#include <tuple>

#include "generator/clang/toolkit.h"
#include "tests/catch.h"
#include "tests/infer/case.h"

namespace tilepost {
namespace {

constexpr char kLaunch[] = "// tile: 16 16\n// threads: 16 16\n// order: columns_then_rows\n";

// The result of inference for a kernel. `includes` is its first lines, and its parameters are
// `parameters` and then M, N and K. `body` may use `row` and `column`, which are the thread's.
InferResult inferred(const std::string& includes, const std::string& parameters,
                     const std::string& body, int bytes = 4) {
  InferCase kernel =
      make_case("kernel", kLaunch + ("// bytes: " + std::to_string(bytes)) + "\n" + includes +
                              "\ntemplate <int kTile>\n__global__ void gemm(" + parameters +
                              ", int M, int N, int K) {\n"
                              "  const int row = blockIdx.y * kTile + threadIdx.y;\n"
                              "  const int column = blockIdx.x * kTile + threadIdx.x;\n" +
                              body + "}\n");
  kernel.function = "gemm<16>";
  std::string looked;
  kernel.full.emplace().toolkit = find_toolkit(looked).value_or("");
  kernel.full->path = "kernel.cu";
  return infer_case(kernel);
}

bool has_toolkit() {
  std::string looked;
  const bool found = find_toolkit(looked).has_value();
  if (!found) std::cout << "SKIPPED: no CUDA Toolkit; " << looked << "\n";
  return found;
}

constexpr char kStore[] = "  if (row < M && column < N) C[row * N + column] = 1;\n";

}  // namespace

TEST_CASE("barriers of the standard library's kind are of the block") {
  if (!has_toolkit()) return;
  const std::string body =
      "  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;\n"
      "  __shared__ float inputs[32];\n"
      "  if (threadIdx.x == 0 && threadIdx.y == 0) init(&barrier, 256);\n"
      "  __syncthreads();\n"
      "  for (int k = 0; k < K; ++k) {\n"
      "    cuda::memcpy_async(@, A + k, cuda::aligned_size_t<4>(4), barrier);\n"
      "    auto token = barrier.arrive();\n"
      "    barrier.wait(std::move(token));\n"
      "  }\n";
  const auto with = [&](const char* target) {
    std::string text = body;
    text.replace(text.find('@'), 1, target);
    return inferred("#include <cuda/barrier>", "const float* A, float* C", text + kStore);
  };
  const InferResult good = with("inputs + k % 32");
  INFO(good.messages);
  REQUIRE(good.inferred);
  CHECK(good.inferred->runs_once);
  const InferResult bad = with("C + k");
  CHECK(!bad.inferred);
  CHECK_THAT(bad.messages, Catch::StartsWith("kernel.cu:15:") &&
                               Catch::Contains(", whose stores are not visible"));
}

TEST_CASE("what a header calls of the kernel's file is followed") {
  if (!has_toolkit()) return;
  const auto with = [&](const std::string& stored) {
    return inferred(
        "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n"
        "namespace cg = cooperative_groups;",
        "float* C",
        "  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());\n"
        "  const float sum = cg::reduce(warp, 1.0f, [&](float x, float y) {\n" +
            stored + "    return x + y;\n  });\n" + kStore);
  };
  const InferResult good = with("");
  INFO(good.messages);
  CHECK(good.inferred);
  const InferResult bad = with("    C[0] = x;\n");
  INFO(bad.messages);
  CHECK(!bad.inferred);
}

TEST_CASE("an object of a header that refers to other memory is no way around") {
  if (!has_toolkit()) return;
  for (const char* use : {"at.store(1.0f);", "at.fetch_add(1.0f);"})
    for (const char* memory : {"scratch[0]", "C[0]"}) {
      const InferResult result =
          inferred("#include <cuda/atomic>", "float* scratch, float* C",
                   "  cuda::atomic_ref<float, cuda::thread_scope_device> at(" +
                       std::string(memory) + ");\n  " + use + "\n" + kStore);
      INFO(use << " of " << memory << "\n" << result.messages);
      CHECK(!result.inferred);
    }
}

TEST_CASE("what stands in the brackets of WMMA's functions is done") {
  if (!has_toolkit()) return;
  const InferResult result =
      inferred("#include <mma.h>\n__device__ int last = 0;", "float* C",
               "  using namespace nvcuda::wmma;\n  __shared__ float all[256];\n"
               "  fragment<accumulator, 16, 16, 16, float> sums;\n"
               "  store_matrix_sync(all, sums, 16, (last = 1, mem_row_major));\n" +
                   std::string(kStore));
  INFO(result.messages);
  CHECK(!result.inferred);
  CHECK_THAT(result.messages, Catch::Contains("this stores into 'last'"));
}

TEST_CASE("of a whole number and an unsigned one the less is unsigned") {
  if (!has_toolkit()) return;
  const InferResult result = inferred(
      "#include <cuda_fp8.h>", "float* C",
      "  if (min(static_cast<int>(threadIdx.x) - 1, 5u) == 5u && threadIdx.x == 0) return;\n" +
          std::string(kStore));
  INFO(result.messages);
  CHECK(!result.inferred);
}

TEST_CASE("the thread's index is a vector that can be copied") {
  if (!has_toolkit()) return;
  const InferResult result = inferred(
      "#include <cuda_fp16.h>", "float* C",
      "  auto thread = threadIdx;\n  const auto block = blockIdx;\n  dim3 threads = blockDim;\n"
      "  const int r = block.y * threads.y + thread.y, c = block.x * threads.x + thread.x;\n"
      "  if (r < M && c < N && dim3(gridDim).z == 1) C[r * N + c] = 1;\n");
  INFO(result.messages);
  CHECK(result.inferred);
}

TEST_CASE("numbers of two halves are stored by their operators") {
  if (!has_toolkit()) return;
  const auto with = [&](const std::string& body) {
    return inferred("#include <cuda_fp16.h>", "half* C", body, 2);
  };
  const std::string pair =
      "  const int first = blockIdx.x * 16 + 2 * (threadIdx.x % 8);\n"
      "  if (row < M && first < N && threadIdx.x < 8 && N % 2 == 0)\n"
      "    *reinterpret_cast<half2*>(C + row * N + first) = __floats2half2_rn(1, 2);\n"
      "  else if (row < M && first < N && threadIdx.x < 8) {\n"
      "    C[row * N + first] = half(1.0f);\n"
      "    if (first + 1 < N) C[row * N + first + 1] = half(1.0f);\n  }\n";
  const InferResult good = with(pair);
  INFO(good.messages);
  CHECK(good.inferred);
  std::string wrong = pair;
  wrong.replace(wrong.find("+ first) ="), 10, "+ first + 1) =");
  CHECK(!with(wrong).inferred);
}

TEST_CASE("stores and loads that say how they are cached are ordinary ones") {
  if (!has_toolkit()) return;
  const auto with = [&](const std::string& store) {
    return inferred("#include <cuda_fp16.h>", "const float4* A, float* C",
                    "  if (row >= M || column >= N) return;\n"
                    "  const float read = __ldcs(A + row).x + __ldca(A).y + __ldcv(A).z;\n  " +
                        store + ";\n");
  };
  for (const char* name : {"__stcg", "__stcs", "__stwb", "__stwt"}) {
    const InferResult good = with(name + std::string("(C + row * N + column, read)"));
    INFO(name << "\n" << good.messages);
    CHECK(good.inferred);
    CHECK(!with(name + std::string("(C + row * N, read)")).inferred);
  }
}

TEST_CASE("all threads have the same rounded number of what is the same for all") {
  if (!has_toolkit()) return;
  const auto with = [&](const std::string& turns) {
    return inferred("#include <cuda_fp16.h>", "const float* A, float* C",
                    "  const int turns = " + turns +
                        ";\n  for (int i = 0; i < turns; ++i) __syncthreads();\n" + kStore);
  };
  for (const char* turns : {"ceil((float)K / 16)", "ceilf(K / 16.0f)", "(K / 16.0) + floor(K / 3.)",
                            "__float2int_ru(__int2float_rn(K) / 16)", "fmaxf(sqrtf(K), 3)"}) {
    const InferResult good = with(turns);
    INFO(turns << "\n" << good.messages);
    CHECK(good.inferred);
  }
  for (const char* turns : {"ceilf(threadIdx.y / 16.0f)", "ceilf(A[threadIdx.x])", "clock()"}) {
    INFO(turns);
    CHECK(!with(turns).inferred);
  }
}

TEST_CASE("what a header's function calls back may compute, and no more") {
  if (!has_toolkit()) return;
  const auto of_block = [](const std::string& body) {
    return inferred(
        "#include <cub/block/block_reduce.cuh>\n"
        "struct Larger {\n  __device__ float operator()(float x, float y) const { return x > y ? x "
        ": "
        "y; }\n};",
        "const float* A, float* C",
        "  using Reduce = cub::BlockReduce<float, 16, cub::BLOCK_REDUCE_WARP_REDUCTIONS, 16>;\n"
        "  __shared__ typename Reduce::TempStorage temp;\n  Reduce(temp).Reduce(A[row], " +
            body + ");\n" + kStore);
  };
  const auto of_thread = [](const std::string& body) {
    return inferred(
        "#include <thrust/execution_policy.h>\n#include <thrust/for_each.h>\n"
        "#include <thrust/iterator/counting_iterator.h>\n__device__ int counter;",
        "float* C",
        "  thrust::counting_iterator<int> first(0);\n  float* held = nullptr;\n  (void)held;\n"
        "  thrust::for_each(thrust::seq, first, first + 3, " +
            body + ");\n" + kStore);
  };
  for (const char* body : {"Larger{}", "[=](float x, float y) { return x < y ? x : y * K; }"}) {
    const InferResult good = of_block(body);
    INFO(body << "\n" << good.messages);
    CHECK(good.inferred);
  }
  const InferResult good = of_thread("[](int i) { int turns = i; ++turns; }");
  INFO(good.messages);
  CHECK(good.inferred);
  CHECK(!of_block("[=](float x, float y) { return x < y ? x : C[0]; }").inferred);
  for (const char* body : {"[=](int i) { C[i] = 5; }", "[&](int i) { held[i] = 5; }",
                           "[=](int i) { atomicAdd(&counter, i); }"}) {
    INFO(body);
    CHECK(!of_thread(body).inferred);
  }
  CHECK(!inferred("#include <cooperative_groups.h>", "float* C",
                  "  cooperative_groups::invoke_one(cooperative_groups::this_thread_block(), "
                  "[&] { C[0] = 5; });\n" +
                      std::string(kStore))
             .inferred);
}

TEST_CASE("a group of all blocks may be there, and may not be waited for") {
  if (!has_toolkit()) return;
  const auto with = [](const std::string& body) {
    return inferred("#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;",
                    "float* C", "  auto grid = cg::this_grid();\n  (void)grid;\n" + body + kStore);
  };
  const InferResult unused = with("");
  INFO(unused.messages);
  CHECK(unused.inferred);
  for (const char* waits : {"grid.sync();", "cg::sync(grid);", "cg::this_grid().sync();"}) {
    const InferResult result = with(waits);
    INFO(waits << "\n" << result.messages);
    CHECK(!result.inferred);
    CHECK_THAT(result.messages, Catch::Contains("all blocks of the grid wait for each other here"));
  }
}

TEST_CASE("what a member function reads of the output is read") {
  if (!has_toolkit()) return;
  const auto with = [&](const std::string& read) {
    return inferred("#include <cuda_fp16.h>", "half* C",
                    "  if (row >= M || column >= N) return;\n  const float old = float(" + read +
                        ");\n  C[row * N + column] = __float2half(old + 1);\n",
                    2);
  };
  const InferResult own = with("C[row * N + column]");
  INFO(own.messages);
  REQUIRE(own.inferred);
  CHECK(own.inferred->reads_output);
  const InferResult other = with("C[row * N]");
  CHECK(!other.inferred);
  CHECK_THAT(other.messages, Catch::Contains("reads the output outside of tile"));
}

TEST_CASE("operators of CUDA's short numbers store into the output and read it") {
  if (!has_toolkit()) return;
  const auto with = [](const char* header, const std::string& type, int bytes,
                       const std::string& changes) {
    return inferred(std::string("#include <") + header + ">\nusing T = " + type +
                        ";\n__device__ T sum(T a, const T& b) { return " +
                        (bytes == 4 ? "__hadd2" : "__hadd") +
                        "(a, b); }\n"
                        "struct Number {\n  T* to;\n"
                        "  __device__ void add(T x) { *to += x; }\n};\n"
                        "template <class V> __device__ void twice(V& v) { v = v + v; }\n",
                    "T* C",
                    "  const T x{};\n  if (row >= M || column >= N) return;\n"
                    "  T& own = C[row * N + column];\n  T& other = C[row * N];\n  own = x;\n" +
                        changes,
                    bytes);
  };
  for (const auto& [header, type, bytes] :
       {std::tuple{"cuda_fp16.h", "__half", 2}, std::tuple{"cuda_fp16.h", "__half2", 4},
        std::tuple{"cuda_bf16.h", "__nv_bfloat16", 2},
        std::tuple{"cuda_bf16.h", "__nv_bfloat162", 4}}) {
    INFO(type);
    const InferResult good =
        with(header, type, bytes,
             "  own += x;\n  own -= x;\n  own *= x;\n  own /= x;\n  ++own;\n  own--;\n"
             "  (own += x) *= x;\n  C[row * N + column] += x;\n  own = own + x;\n"
             "  own = sum(own, x);\n  Number{&own}.add(x);\n  twice(own);\n");
    INFO(good.messages);
    REQUIRE(good.inferred);
    CHECK(good.inferred->reads_output);
    const InferResult bad = with(header, type, bytes, "  other += x;\n");
    INFO(bad.messages);
    CHECK(!bad.inferred);
    CHECK_THAT(bad.messages, Catch::Contains("tile"));
  }
  const InferResult read = with("cuda_fp16.h", "__half", 2, "  own += other;\n");
  INFO(read.messages);
  CHECK(!read.inferred);
  CHECK_THAT(read.messages, Catch::Contains("reads the output outside of tile"));
}

TEST_CASE("bulk stores of a header's functions are seen, bulk loads do no harm") {
  if (!has_toolkit()) return;
  const auto with = [&](const std::string& move) {
    return inferred(
        "#include <cuda.h>\n#include <cuda/barrier>\nnamespace cde = cuda::device::experimental;",
        "const CUtensorMap* map, float* C",
        "  __shared__ alignas(128) float box[64];\n"
        "  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;\n"
        "  if (threadIdx.x == 0 && threadIdx.y == 0) " +
            move + ";\n" + kStore);
  };
  const InferResult load =
      with("cde::cp_async_bulk_tensor_2d_global_to_shared(box, map, 0, 0, barrier)");
  INFO(load.messages);
  CHECK(load.inferred);
  const InferResult store = with("cde::cp_async_bulk_tensor_2d_shared_to_global(map, 0, 0, box)");
  CHECK(!store.inferred);
  CHECK_THAT(store.messages, Catch::Contains("'cp_async_bulk_tensor_2d_shared_to_global' stores in "
                                             "bulk: where that goes is in a tensor map"));
  CHECK(!with("cde::cp_async_bulk_global_to_shared(C, C, 16, barrier)").inferred);
}

}  // namespace tilepost
