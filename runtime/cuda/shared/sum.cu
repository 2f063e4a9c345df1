// Each block adds one piece of the rows in several steps. While the vectors of one step are added,
// those of the next step are being loaded. So the few SMs beside a GEMM use as much of the memory's
// bandwidth as they can. The pieces are small enough to spread evenly over any number of SMs.
//
// The parts were stored by other GPUs or copy engines before this kernel began. They are read with
// ordinary loads, because a kernel begins with nothing in L1 (CUDA C++ Programming Guide, Streams;
// PTX ISA 8.9.5). They are read once, so they need not stay in the cache.
#include <cuda_runtime.h>

#include <type_traits>

#include "runtime/cuda/device/kernel_launch.cuh"
#include "runtime/cuda/shared/sum.h"
#include "tilepost/device/element.cuh"
#include "tilepost/internal/kernel_dtype.h"

namespace tilepost::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kSteps = 4;     // how many steps a block takes
constexpr int kInFlight = 8;  // how many vectors a thread loads at a time, of all parts
constexpr int kScalars = 4;   // how many elements a thread adds, where there are no vectors
constexpr int kAnyParts = 0;
constexpr int kUnrolled = 4;  // how many parts are loaded at a time, if the number of parts is not
                              // known at compile time

// Whether elements are as wide as the sums, so that they need no conversion.
template <DType kType>
constexpr bool kIsWide = sizeof(DeviceElement<kType>) == sizeof(float);

// The number of elements of a vector, which has sixteen bytes.
template <DType kType>
constexpr int kWidth = sizeof(uint4) / sizeof(DeviceElement<kType>);

// An element's bits.
template <DType kType>
using Bits = std::conditional_t<kIsWide<kType>, uint32_t, uint16_t>;

template <DType kType>
struct Sum {
  float2 words[kWidth<kType> / 2];
};

template <DType kType>
__device__ __forceinline__ float element_of(Bits<kType> bits) {
  if constexpr (kIsWide<kType>)
    return __uint_as_float(bits);
  else
    return unpack<kType>(bits).x;
}

template <DType kType>
__device__ __forceinline__ Bits<kType> bits_of(float element) {
  if constexpr (kIsWide<kType>)
    return __float_as_uint(element);
  else
    return static_cast<uint16_t>(pack<kType>(element, 0));
}

template <DType kType>
__device__ __forceinline__ Sum<kType> unpack_vector(const uint4& vector) {
  if constexpr (kIsWide<kType>)
    return {{{__uint_as_float(vector.x), __uint_as_float(vector.y)},
             {__uint_as_float(vector.z), __uint_as_float(vector.w)}}};
  else
    return {{unpack<kType>(vector.x), unpack<kType>(vector.y), unpack<kType>(vector.z),
             unpack<kType>(vector.w)}};
}

template <DType kType>
__device__ __forceinline__ uint4 pack_vector(const Sum<kType>& sum) {
  const auto& words = sum.words;
  if constexpr (kIsWide<kType>)
    return {__float_as_uint(words[0].x), __float_as_uint(words[0].y), __float_as_uint(words[1].x),
            __float_as_uint(words[1].y)};
  else
    return {pack<kType>(words[0].x, words[0].y), pack<kType>(words[1].x, words[1].y),
            pack<kType>(words[2].x, words[2].y), pack<kType>(words[3].x, words[3].y)};
}

template <DType kType>
__device__ __forceinline__ void add_to(Sum<kType>& sum, const Sum<kType>& other) {
#pragma unroll
  for (int w = 0; w < kWidth<kType> / 2; ++w) {
    sum.words[w].x += other.words[w].x;
    sum.words[w].y += other.words[w].y;
  }
}

// Adds up one element of all parts, in the same order as vectors.
template <DType kType>
__device__ __forceinline__ void sum_element(const SumArguments& args, int64_t i) {
  using Element = Bits<kType>;
  const auto load = [i](const void* part) {
    return element_of<kType>(static_cast<const Element*>(part)[i]);
  };
  auto rounded = static_cast<const Element*>(args.parts[0])[i];
  if (args.num_parts > 1) {
    float sum = load(args.parts[0]);
    for (int p = 1; p < args.num_parts; ++p) sum += load(args.parts[p]);
    rounded = bits_of<kType>(sum);
  }
  static_cast<Element*>(args.out)[i] = rounded;
  if (args.sums != nullptr) static_cast<Element*>(args.sums)[i] = rounded;
  if (args.clear != nullptr) static_cast<Element*>(args.clear)[i] = 0;
}

// The number of vectors of each part in a step.
template <int kParts>
constexpr int kVectors = kParts >= kInFlight ? 1 : kInFlight / kParts;

__device__ __forceinline__ void store_vector(const SumArguments& args, int64_t i,
                                             const uint4& rounded) {
  static_cast<uint4*>(args.out)[i] = rounded;
  if (args.sums != nullptr) static_cast<uint4*>(args.sums)[i] = rounded;
  if (args.clear != nullptr) static_cast<uint4*>(args.clear)[i] = uint4{};
}

// The vectors of one step. All of them are requested before the first is needed.
template <int kParts>
struct Loads {
  static constexpr int kEach = kVectors<kParts>;
  uint4 vectors[kParts][kEach];

  __device__ __forceinline__ void issue(const SumArguments& args, int64_t first, int64_t count) {
#pragma unroll
    for (int p = 0; p < kParts; ++p)
#pragma unroll
      for (int v = 0; v < kEach; ++v) {
        const int64_t i = first + v * kThreads;
        vectors[p][v] = i < count ? __ldcs(static_cast<const uint4*>(args.parts[p]) + i) : uint4{};
      }
  }
};

// Lets the last block add the elements behind the last whole vector.
template <DType kType>
__device__ __forceinline__ void sum_rest(const SumArguments& args) {
  const int64_t rest = args.count / kWidth<kType> * kWidth<kType> + threadIdx.x;
  if (blockIdx.x == gridDim.x - 1 && rest < args.count) sum_element<kType>(args, rest);
}

// The kernel for pointers that are all aligned to 16 bytes.
template <DType kType, int kParts>
__global__ void __launch_bounds__(kThreads)
    sum_vectors_kernel(const __grid_constant__ SumArguments args) {
  constexpr int kEach = kVectors<kParts>, kStep = kThreads * kEach;
  const int64_t count = args.count / kWidth<kType>;
  const int64_t first = int64_t{blockIdx.x} * (kStep * kSteps) + threadIdx.x;
  Loads<kParts> next;
  next.issue(args, first, count);
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const Loads<kParts> now = next;
    const int64_t at = first + step * kStep;
    if (step + 1 < kSteps) next.issue(args, at + kStep, count);
#pragma unroll
    for (int v = 0; v < kEach; ++v) {
      uint4 rounded = now.vectors[0][v];  // a single part is copied
      if constexpr (kParts > 1) {
        Sum<kType> sum = unpack_vector<kType>(rounded);
#pragma unroll
        for (int p = 1; p < kParts; ++p)
          add_to<kType>(sum, unpack_vector<kType>(now.vectors[p][v]));
        rounded = pack_vector<kType>(sum);
      }
      if (at + v * kThreads < count) store_vector(args, at + v * kThreads, rounded);
    }
  }
  sum_rest<kType>(args);
}

// Adds any number of parts. Each thread adds one vector of each part.
template <DType kType>
__global__ void __launch_bounds__(kThreads)
    sum_any_kernel(const __grid_constant__ SumArguments args) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < args.count / kWidth<kType>) {
    const auto load = [&](int p) { return __ldcs(static_cast<const uint4*>(args.parts[p]) + i); };
    Sum<kType> sum = unpack_vector<kType>(load(0));
#pragma unroll(kUnrolled)
    for (int p = 1; p < args.num_parts; ++p) add_to<kType>(sum, unpack_vector<kType>(load(p)));
    store_vector(args, i, pack_vector<kType>(sum));
  }
  sum_rest<kType>(args);
}

template <DType kType>
__global__ void __launch_bounds__(kThreads)
    sum_elements_kernel(const __grid_constant__ SumArguments args) {
  const int64_t first = int64_t{blockIdx.x} * (kThreads * kScalars) + threadIdx.x;
#pragma unroll
  for (int s = 0; s < kScalars; ++s)
    if (first + s * kThreads < args.count) sum_element<kType>(args, first + s * kThreads);
}

using Kernel = void (*)(SumArguments);

struct Variant {
  int parts;
  Kernel kernel;
  int64_t vectors;  // how many vectors of each part a block adds
};

template <DType kType, int kParts>
constexpr Variant variant() {
  return {kParts, sum_vectors_kernel<kType, kParts>, int64_t{kThreads} * kVectors<kParts> * kSteps};
}

// The last variant takes any number of parts.
template <DType kType>
constexpr Variant kVariants[] = {variant<kType, 1>(),
                                 variant<kType, 2>(),
                                 variant<kType, 4>(),
                                 variant<kType, 8>(),
                                 {kAnyParts, sum_any_kernel<kType>, kThreads}};

// The kernels for elements of a type.
struct Kernels {
  const Variant* variants;
  Kernel elements;
  int width;
};

template <DType kType>
constexpr Kernels kKernels = {kVariants<kType>, sum_elements_kernel<kType>, kWidth<kType>};

const Kernels& kernels_of(tilepost_dtype_t type) {
  const Kernels* found = nullptr;
  with_dtype<&DtypeRow::may_be_output>(
      type, [&](auto dtype) { found = &kKernels<in_kernels(dtype.value)>; });
  return *found;
}

bool is_aligned(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % sizeof(uint4) == 0;
}

bool takes_vectors(const SumArguments& arguments) {
  for (int p = 0; p < arguments.num_parts; ++p)
    if (!is_aligned(arguments.parts[p])) return false;
  return is_aligned(arguments.out) && is_aligned(arguments.sums) && is_aligned(arguments.clear);
}

cudaError_t launch(Kernel kernel, int64_t elements_of_block, const SumArguments& arguments,
                   cudaStream_t stream) {
  const int64_t blocks = (arguments.count + elements_of_block - 1) / elements_of_block;
  return launch_kernel(kernel, static_cast<unsigned>(blocks), kThreads, stream, arguments);
}

}  // namespace

cudaError_t preload_sum(tilepost_dtype_t type) {
  const Kernels& kernels = kernels_of(type);
  for (const Variant* variant = kernels.variants;; ++variant) {
    const auto* kernel = reinterpret_cast<const void*>(variant->kernel);
    if (const auto error = preload_beside_gemm(kernel); error != cudaSuccess) return error;
    if (variant->parts == kAnyParts) break;
  }
  return preload_beside_gemm(reinterpret_cast<const void*>(kernels.elements));
}

cudaError_t launch_sum(const SumArguments& arguments, tilepost_dtype_t type, cudaStream_t stream) {
  if (arguments.count == 0) return cudaSuccess;
  const Kernels& kernels = kernels_of(type);
  if (!takes_vectors(arguments))
    return launch(kernels.elements, kThreads * kScalars, arguments, stream);
  const Variant* variant = kernels.variants;
  while (variant->parts != arguments.num_parts && variant->parts != kAnyParts) ++variant;
  return launch(variant->kernel, variant->vectors * kernels.width, arguments, stream);
}

}  // namespace tilepost::cuda
