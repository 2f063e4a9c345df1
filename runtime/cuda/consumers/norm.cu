// A row belongs to one block, or to one warp where rows are short. Each thread keeps its elements
// of the row in registers between the sum and the result, so that the row is read once. A row that
// is too long for that is read twice. Blocks stay and take further rows. The next row is loaded
// while this row is summed.
#include <cuda_runtime.h>

#include <algorithm>

#include "runtime/cuda/consumers/norm.h"
#include "runtime/cuda/device/kernel_launch.cuh"
#include "tilepost/device/norm.cuh"
#include "tilepost/device/quantised.cuh"
#include "tilepost/device/rows.cuh"
#include "tilepost/internal/kernel_dtype.h"

namespace tilepost::cuda {
namespace {

using norm::held_elements;
using norm::kMostThreads;
using norm::kWarp;

constexpr int kWarpsOfShortRows = 8;  // the warps of a block in which each warp has a row
constexpr int kThreadsPerSm = 2048;

__device__ __forceinline__ rows::Any layout_of(const NormArguments& args) {
  return {args.slot_rows, args.height, args.tile_m, args.tile_n,
          (args.n + args.tile_n - 1) / args.tile_n};
}

// kWidth elements as words of two elements. A single element has a zero beside it.
template <int kWidth>
struct Packed {
  static constexpr int kWords = kWidth > 1 ? kWidth / 2 : 1;
  uint32_t words[kWords];
};

template <int kWidth>
__device__ __forceinline__ Packed<kWidth> load_packed(const void* base, int64_t element) {
  const auto vector = rows::load<kWidth>(static_cast<const uint16_t*>(base) + element);
  Packed<kWidth> packed{};
  memcpy(&packed, &vector, sizeof vector);
  return packed;
}

template <int kWidth>
__device__ __forceinline__ void store_packed(void* base, int64_t element,
                                             const Packed<kWidth>& packed) {
  rows::Vector<uint16_t, kWidth> vector;
  memcpy(&vector, &packed, sizeof vector);
  rows::store(static_cast<uint16_t*>(base) + element, vector);
}

// Adds y to x and rounds the sums to the type.
template <DType kType, int kWidth>
__device__ __forceinline__ void add_to(Packed<kWidth>& x, const Packed<kWidth>& y) {
  for (int w = 0; w < x.kWords; ++w) x.words[w] = norm::add<kType>(x.words[w], y.words[w]);
}

template <DType kType, int kWidth>
__device__ __forceinline__ float squares(const Packed<kWidth>& y) {
  float sum = 0;
  for (int w = 0; w < y.kWords; ++w) sum = norm::add_squares<kType>(sum, y.words[w]);
  return sum;
}

template <DType kType, int kWidth>
__device__ __forceinline__ Packed<kWidth> scaled(const Packed<kWidth>& y, float scale,
                                                 const Packed<kWidth>& weight) {
  Packed<kWidth> out;
  for (int w = 0; w < y.kWords; ++w)
    out.words[w] = norm::scaled<kType>(y.words[w], scale, weight.words[w]);
  return out;
}

// The results of eight neighbours in fp32.
template <DType kType>
__device__ __forceinline__ quantised::Neighbours wide_scaled(
    const Packed<quantised::kWidth>& y, float scale, const Packed<quantised::kWidth>& weight) {
  quantised::Neighbours out;
#pragma unroll
  for (int w = 0; w < y.kWords; ++w) {
    const float2 a = unpack<kType>(y.words[w]), b = unpack<kType>(weight.words[w]);
    out.values[2 * w] = a.x * scale * b.x, out.values[2 * w + 1] = a.y * scale * b.y;
  }
  return out;
}

// Writes results of a row from `column` on, rounded to the type or quantised. Where they are
// quantised, the lanes of a warp call together and have consecutive columns, those beyond the row's
// end too, where all are zero.
template <DType kType, bool kQuantises, int kWidth>
__device__ __forceinline__ void write(const NormArguments& args, int64_t row, int column,
                                      const Packed<kWidth>& y, float scale,
                                      const Packed<kWidth>& weight) {
  const int64_t at = row * args.n + column;
  if constexpr (kQuantises) {
    const quantised::Neighbours x = wide_scaled<kType>(y, scale, weight);
    const float of_block = quantised::scale_of(x);
    if (column >= args.n) return;
    quantised::store(static_cast<uint8_t*>(args.out) + at, x, of_block);
    if (column % TILEPOST_SCALE_BLOCK == 0)
      args.scales[row * args.steps.row + column / TILEPOST_SCALE_BLOCK * args.steps.block] =
          of_block;
  } else if (column < args.n) {
    store_packed(args.out, at, scaled<kType>(y, scale, weight));
  }
}

// Gives the sum over the threads of a row to all of them. The rows alternate between the halves of
// `partial`. So a warp can write its sum of the next row while another warp still reads the sums of
// this row. The barrier between rows keeps the warp from writing its sum of the row after the next.
class RowSum {
 public:
  __device__ __forceinline__ float operator()(float value) {
    __shared__ float partial[2][kMostThreads / kWarp];
    value = norm::warp_sum(value);
    if (blockDim.x == kWarp) return value;
    const int lane = threadIdx.x % kWarp;
    if (lane == 0) partial[turn_][threadIdx.x / kWarp] = value;
    __syncthreads();
    value = lane < blockDim.x / kWarp ? partial[turn_][lane] : 0;
    turn_ ^= 1;
    return norm::warp_sum(value);
  }

 private:
  int turn_ = 0;
};

// The elements of a row that a thread keeps. They are zero beyond the row's end.
template <int kWidth>
struct Held {
  static constexpr int kVectors = held_elements(kWidth) / kWidth;
  Packed<kWidth> x[kVectors];
  Packed<kWidth> residual[kVectors];  // unused without a residual, and then in no registers
};

// The first column of vector `v` of this thread.
template <int kWidth>
__device__ __forceinline__ int column_of(int v) {
  return (v * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * kWidth;
}

template <int kWidth, bool kResidual>
__device__ __forceinline__ Held<kWidth> load_row(const NormArguments& args, const rows::Any& layout,
                                                 int64_t row) {
  Held<kWidth> held{};
  if (row >= args.rows) return held;
#pragma unroll
  for (int v = 0; v < held.kVectors; ++v) {
    const int column = column_of<kWidth>(v);
    if (column >= args.n) continue;
    held.x[v] = load_packed<kWidth>(args.x, layout.place(row, layout.column(column)));
    if constexpr (kResidual)
      held.residual[v] = load_packed<kWidth>(args.residual, row * args.n + column);
  }
  return held;
}

template <DType kType, int kWidth, bool kResidual, bool kQuantises>
__global__ void __launch_bounds__(kMostThreads)
    norm_kernel(const __grid_constant__ NormArguments args) {
  constexpr int kVectors = Held<kWidth>::kVectors;
  const rows::Any layout = layout_of(args);
  Packed<kWidth> weight[kVectors] = {};
#pragma unroll
  for (int v = 0; v < kVectors; ++v)
    if (column_of<kWidth>(v) < args.n)
      weight[v] = load_packed<kWidth>(args.weight, column_of<kWidth>(v));
  RowSum row_sum;
  const int64_t step = int64_t{gridDim.x} * blockDim.y;
  int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  Held<kWidth> held = load_row<kWidth, kResidual>(args, layout, row);
  for (; row < args.rows; row += step) {
    const Held<kWidth> next = load_row<kWidth, kResidual>(args, layout, row + step);
    float sum = 0;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      if constexpr (kResidual) add_to<kType>(held.x[v], held.residual[v]);
      sum += squares<kType>(held.x[v]);
    }
    const float scale = norm::scale_of(row_sum(sum), args.n, args.epsilon);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int column = column_of<kWidth>(v);
      if (kResidual && column < args.n)
        store_packed(args.residual, row * args.n + column, held.x[v]);
      write<kType, kQuantises>(args, row, column, held.x[v], scale, weight[v]);
    }
    held = next;
  }
}

// The kernel for rows that are longer than a block's registers hold. If an element that a thread
// reads a second time was written, that thread wrote it.
template <DType kType, int kWidth, bool kResidual, bool kQuantises>
__global__ void __launch_bounds__(kMostThreads)
    long_norm_kernel(const __grid_constant__ NormArguments args) {
  const rows::Any layout = layout_of(args);
  const int first = threadIdx.x * kWidth, step = blockDim.x * kWidth;
  RowSum row_sum;
  for (int64_t row = blockIdx.x; row < args.rows; row += gridDim.x) {
    float sum = 0;
    for (int column = first; column < args.n; column += step) {
      auto x = load_packed<kWidth>(args.x, layout.place(row, layout.column(column)));
      if constexpr (kResidual) {
        add_to<kType>(x, load_packed<kWidth>(args.residual, row * args.n + column));
        store_packed(args.residual, row * args.n + column, x);
      }
      sum += squares<kType>(x);
    }
    const float scale = norm::scale_of(row_sum(sum), args.n, args.epsilon);
    for (int column = first; column - first < args.n; column += step) {
      Packed<kWidth> x{}, weight{};
      if (column < args.n) {
        x = kResidual ? load_packed<kWidth>(args.residual, row * args.n + column)
                      : load_packed<kWidth>(args.x, layout.place(row, layout.column(column)));
        weight = load_packed<kWidth>(args.weight, column);
      }
      write<kType, kQuantises>(args, row, column, x, scale, weight);
    }
  }
}

using Kernel = void (*)(NormArguments);

struct Variant {
  int width;                 // elements
  Kernel held[2], twice[2];  // [whether there is a residual]
};

template <DType kType, int kWidth, bool kQuantises = false>
constexpr Variant kVariant = {
    kWidth,
    {norm_kernel<kType, kWidth, false, kQuantises>, norm_kernel<kType, kWidth, true, kQuantises>},
    {long_norm_kernel<kType, kWidth, false, kQuantises>,
     long_norm_kernel<kType, kWidth, true, kQuantises>}};

// The first one quantises. The others are the widest one first.
template <DType kType>
constexpr Variant kVariants[] = {kVariant<kType, quantised::kWidth, true>, kVariant<kType, 8>,
                                 kVariant<kType, 4>, kVariant<kType, 2>, kVariant<kType, 1>};

const Variant* variants(tilepost_dtype_t type) {
  const Variant* found = nullptr;
  with_dtype<&DtypeRow::is_half>(type,
                                 [&](auto dtype) { found = kVariants<in_kernels(dtype.value)>; });
  return found;
}

}  // namespace

cudaError_t preload_norm(tilepost_dtype_t type) {
  for (const Variant* variant = variants(type);; ++variant) {
    for (const Kernel kernel :
         {variant->held[0], variant->held[1], variant->twice[0], variant->twice[1]})
      if (const auto error = preload_kernel(reinterpret_cast<const void*>(kernel));
          error != cudaSuccess)
        return error;
    if (variant->width == 1) return cudaSuccess;
  }
}

cudaError_t launch_norm(const NormArguments& arguments, tilepost_dtype_t type, int sms,
                        cudaStream_t stream) {
  const Variant* variant = variants(type);
  if (arguments.scales == nullptr) ++variant;
  while (arguments.scales == nullptr &&
         (arguments.n % variant->width != 0 || arguments.tile_n % variant->width != 0))
    ++variant;
  const int threads = norm::threads_of(arguments.n, variant->width);
  const bool held = arguments.n <= threads * held_elements(variant->width);
  const int rows_at_once = held && threads == kWarp ? kWarpsOfShortRows : 1;
  const int blocks = (arguments.rows + rows_at_once - 1) / rows_at_once;
  const int at_once = sms * (kThreadsPerSm / (threads * rows_at_once));
  const Kernel* kernels = held ? variant->held : variant->twice;
  return launch_kernel(kernels[arguments.residual != nullptr ? 1 : 0],
                       dim3(std::min(blocks, at_once)), dim3(threads, rows_at_once), stream,
                       arguments);
}

}  // namespace tilepost::cuda
