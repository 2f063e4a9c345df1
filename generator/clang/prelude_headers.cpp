#include "generator/clang/prelude.h"

namespace tilepost {
namespace {

constexpr char kStddef[] = R"(#pragma once
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
#define NULL __null
#define offsetof(type, member) __builtin_offsetof(type, member)
namespace std {
using ::ptrdiff_t;
using ::size_t;
using nullptr_t = decltype(nullptr);
enum class byte : unsigned char {};
}
)";

constexpr char kStdint[] = R"(#pragma once
#define TILEPOST_INT(bits) \
  typedef __INT##bits##_TYPE__ int##bits##_t; typedef __UINT##bits##_TYPE__ uint##bits##_t; \
  namespace std { using ::int##bits##_t; using ::uint##bits##_t; }
TILEPOST_INT(8)
TILEPOST_INT(16)
TILEPOST_INT(32)
TILEPOST_INT(64)
#undef TILEPOST_INT
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;
namespace std { using ::intptr_t; using ::uintptr_t; }
#define INT32_MAX 2147483647
#define INT64_MAX 9223372036854775807LL
#define UINT32_MAX 4294967295U
#define UINT64_MAX 18446744073709551615ULL
)";

// These functions are only declared, because a kernel's constants do not depend on their results.
constexpr char kCmath[] = R"(#pragma once
#ifdef __CUDACC__
#define TILEPOST_BOTH __host__ __device__
#else
#define TILEPOST_BOTH
#endif
namespace std {
#define TILEPOST_MATH1(name) TILEPOST_BOTH float name(float); TILEPOST_BOTH double name(double);
TILEPOST_MATH1(abs)
TILEPOST_MATH1(ceil)
TILEPOST_MATH1(erf)
TILEPOST_MATH1(exp)
TILEPOST_MATH1(fabs)
TILEPOST_MATH1(floor)
TILEPOST_MATH1(log)
TILEPOST_MATH1(round)
TILEPOST_MATH1(sqrt)
TILEPOST_MATH1(tanh)
#undef TILEPOST_MATH1
TILEPOST_BOTH bool isnan(double);
TILEPOST_BOTH bool isinf(double);
TILEPOST_BOTH float fma(float, float, float);
TILEPOST_BOTH double fma(double, double, double);
}
#undef TILEPOST_BOTH
)";

// CUDA sources have memcpy, memset and printf from the prelude, for host and device.
constexpr char kCstring[] = R"(#pragma once
#include <stddef.h>
#ifndef __CUDACC__
extern "C" void* memcpy(void*, const void*, size_t);
extern "C" void* memset(void*, int, size_t);
#endif
extern "C" void* memmove(void*, const void*, size_t);
extern "C" int memcmp(const void*, const void*, size_t);
namespace std { using ::memcmp; using ::memcpy; using ::memmove; using ::memset; }
)";

constexpr char kTypeTraits[] = R"(#pragma once
#include <stddef.h>
namespace std {
template <class T, T v> struct integral_constant {
  static constexpr T value = v;
  using value_type = T;
  constexpr operator T() const { return v; }
};
template <bool b> using bool_constant = integral_constant<bool, b>;
using true_type = bool_constant<true>;
using false_type = bool_constant<false>;
template <bool b, class T, class F> struct conditional { using type = T; };
template <class T, class F> struct conditional<false, T, F> { using type = F; };
template <bool b, class T, class F> using conditional_t = typename conditional<b, T, F>::type;
template <bool b, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { using type = T; };
template <bool b, class T = void> using enable_if_t = typename enable_if<b, T>::type;
template <class A, class B> struct is_same : bool_constant<__is_same(A, B)> {};
template <class A, class B> inline constexpr bool is_same_v = __is_same(A, B);
template <class T> inline constexpr bool is_integral_v = __is_integral(T);
template <class T> inline constexpr bool is_floating_point_v = __is_floating_point(T);
template <class T> inline constexpr bool is_signed_v = __is_signed(T);
template <class T> inline constexpr bool is_unsigned_v = __is_unsigned(T);
template <class T> inline constexpr bool is_enum_v = __is_enum(T);
template <class T> inline constexpr bool is_trivially_copyable_v = __is_trivially_copyable(T);
template <class T> struct type_identity { using type = T; };
template <class T> using type_identity_t = T;
template <class T> using remove_cv_t = __remove_cv(T);
template <class T> using remove_const_t = __remove_const(T);
template <class T> using remove_reference_t = __remove_reference_t(T);
template <class T> using remove_cvref_t = __remove_cvref(T);
template <class T> using remove_pointer_t = __remove_pointer(T);
template <class T> using decay_t = __decay(T);
template <class T> using make_unsigned_t = __make_unsigned(T);
template <class T> using make_signed_t = __make_signed(T);
template <class T> using underlying_type_t = __underlying_type(T);
}
)";

constexpr char kUtility[] = R"(#pragma once
#include <type_traits>
namespace std {
template <class T> constexpr remove_reference_t<T>&& move(T&& x) {
  return static_cast<remove_reference_t<T>&&>(x);
}
template <class T> constexpr T&& forward(remove_reference_t<T>& x) { return static_cast<T&&>(x); }
template <class T> constexpr T&& forward(remove_reference_t<T>&& x) { return static_cast<T&&>(x); }
template <class T> constexpr void swap(T& a, T& b) { T c = a; a = b; b = c; }
template <class A, class B> struct pair { A first; B second; };
template <class A, class B> pair(A, B) -> pair<A, B>;
template <class T> remove_reference_t<T>&& declval();
template <class T, T... i> struct integer_sequence {};
template <size_t... i> using index_sequence = integer_sequence<size_t, i...>;
template <class T, T n> using make_integer_sequence = __make_integer_seq<integer_sequence, T, n>;
template <size_t n> using make_index_sequence = make_integer_sequence<size_t, n>;
}
)";

constexpr char kAlgorithm[] = R"(#pragma once
#include <utility>
namespace std {
template <class T> constexpr const T& min(const T& a, const T& b) { return b < a ? b : a; }
template <class T> constexpr const T& max(const T& a, const T& b) { return a < b ? b : a; }
template <class T> constexpr const T& clamp(const T& x, const T& a, const T& b) {
  return x < a ? a : b < x ? b : x;
}
template <class I, class T> constexpr void fill(I first, I last, const T& value) {
  for (; first != last; ++first) *first = value;
}
template <class I, class N, class T> constexpr I fill_n(I first, N n, const T& value) {
  for (; n > 0; --n) *first++ = value;
  return first;
}
template <class I, class O> constexpr O copy(I first, I last, O out) {
  for (; first != last; ++first) *out++ = *first;
  return out;
}
template <class I, class N, class O> constexpr O copy_n(I first, N n, O out) {
  for (; n > 0; --n) *out++ = *first++;
  return out;
}
}
)";

constexpr char kBit[] = R"(#pragma once
namespace std {
template <class To, class From> constexpr To bit_cast(const From& from) {
  return __builtin_bit_cast(To, from);
}
template <class T> constexpr bool has_single_bit(T x) { return x && !(x & (x - 1)); }
template <class T> constexpr int countl_zero(T x) { return __builtin_clzg(x, 0); }
template <class T> constexpr int countr_zero(T x) { return __builtin_ctzg(x, 0); }
template <class T> constexpr int popcount(T x) { return __builtin_popcountg(x); }
}
)";

constexpr char kLimits[] = R"(#pragma once
namespace std {
template <class T> struct numeric_limits {
  static constexpr T lowest() { return T{}; }
  static constexpr T min() { return T{}; }
  static constexpr T max() { return T(~T{}); }
  static constexpr T infinity() { return T{}; }
  static constexpr T quiet_NaN() { return T{}; }
  static constexpr T epsilon() { return T{}; }
};
template <> struct numeric_limits<float> {
  static constexpr float lowest() { return -__FLT_MAX__; }
  static constexpr float min() { return __FLT_MIN__; }
  static constexpr float max() { return __FLT_MAX__; }
  static constexpr float infinity() { return __builtin_huge_valf(); }
  static constexpr float quiet_NaN() { return __builtin_nanf(""); }
  static constexpr float epsilon() { return __FLT_EPSILON__; }
};
template <> struct numeric_limits<int> {
  static constexpr int lowest() { return -__INT_MAX__ - 1; }
  static constexpr int min() { return -__INT_MAX__ - 1; }
  static constexpr int max() { return __INT_MAX__; }
};
}
)";

constexpr char kArray[] = R"(#pragma once
#include <stddef.h>
namespace std {
template <class T, size_t n> struct array {
  T data_[n];
  constexpr T& operator[](size_t i) { return data_[i]; }
  constexpr const T& operator[](size_t i) const { return data_[i]; }
  constexpr T* data() { return data_; }
  constexpr const T* data() const { return data_; }
  constexpr size_t size() const { return n; }
  constexpr T* begin() { return data_; }
  constexpr T* end() { return data_ + n; }
  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + n; }
  constexpr void fill(const T& x) { for (T& y : data_) y = x; }
};
}
)";

constexpr char kVector[] = R"(#pragma once
#include <stddef.h>
namespace std {
template <class T> struct vector {
  vector();
  explicit vector(size_t);
  vector(size_t, const T&);
  T& operator[](size_t);
  const T& operator[](size_t) const;
  T* data();
  const T* data() const;
  size_t size() const;
  bool empty() const;
  void resize(size_t);
  void assign(size_t, const T&);
  void push_back(const T&);
  T* begin();
  T* end();
  const T* begin() const;
  const T* end() const;
};
}
)";

constexpr char kAtomic[] = R"(#pragma once
namespace std {
enum class memory_order { relaxed, consume, acquire, release, acq_rel, seq_cst };
inline constexpr memory_order memory_order_relaxed = memory_order::relaxed;
inline constexpr memory_order memory_order_acquire = memory_order::acquire;
inline constexpr memory_order memory_order_release = memory_order::release;
inline constexpr memory_order memory_order_acq_rel = memory_order::acq_rel;
inline constexpr memory_order memory_order_seq_cst = memory_order::seq_cst;
void atomic_thread_fence(memory_order);
template <class T> struct atomic {
  constexpr atomic(T = T{});
  T load(memory_order = memory_order_seq_cst) const;
  void store(T, memory_order = memory_order_seq_cst);
  T fetch_add(T, memory_order = memory_order_seq_cst);
};
template <class T> struct atomic_ref {
  explicit atomic_ref(T&);
  T load(memory_order = memory_order_seq_cst) const;
  void store(T, memory_order = memory_order_seq_cst) const;
  T fetch_add(T, memory_order = memory_order_seq_cst) const;
};
}
)";

constexpr char kCassert[] = R"(#pragma once
#define assert(condition) ((void)(condition))
)";

constexpr char kCuda[] = R"(#pragma once
#include <stdint.h>
typedef int CUresult;
typedef struct alignas(64) CUtensorMap_st { unsigned long long opaque[16]; } CUtensorMap;
)";

constexpr char kCudaRuntime[] = R"(#pragma once
#include <stddef.h>
typedef int cudaError_t;
enum { cudaSuccess = 0 };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
extern "C" {
cudaError_t cudaMalloc(void**, size_t);
cudaError_t cudaFree(void*);
cudaError_t cudaMemcpy(void*, const void*, size_t, cudaMemcpyKind);
cudaError_t cudaMemsetAsync(void*, int, size_t, cudaStream_t);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaGetLastError();
const char* cudaGetErrorString(cudaError_t);
}
template <class T> cudaError_t cudaFuncSetAttribute(T*, cudaFuncAttribute, int);
)";

#define TILEPOST_HALF_TYPE(name)                                              \
  "struct __align__(2) " name " { unsigned short bits; " name                 \
  "() = default;\n"                                                           \
  "  __host__ __device__ " name "(float); __host__ __device__ explicit " name \
  "(int);\n"                                                                  \
  "  __host__ __device__ operator float() const; };\n"                        \
  "struct __align__(4) " name "2 { " name " x, y; " name                      \
  "2() = default;\n"                                                          \
  "  __host__ __device__ " name "2(const " name "&, const " name "&); };\n"

constexpr char kCudaFp16[] = "#pragma once\n" TILEPOST_HALF_TYPE("__half") R"(
typedef __half half;
typedef __half2 half2;
__host__ __device__ __half __float2half(float);
__host__ __device__ __half __float2half_rn(float);
__host__ __device__ float __half2float(__half);
__host__ __device__ __half2 __floats2half2_rn(float, float);
__host__ __device__ __half2 __float22half2_rn(float2);
__host__ __device__ float2 __half22float2(__half2);
__host__ __device__ __half2 __halves2half2(__half, __half);
__host__ __device__ unsigned short __half_as_ushort(__half);
__host__ __device__ __half __ushort_as_half(unsigned short);
)";

constexpr char kCudaBf16[] = "#pragma once\n" TILEPOST_HALF_TYPE("__nv_bfloat16") R"(
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
__host__ __device__ __nv_bfloat16 __float2bfloat16(float);
__host__ __device__ __nv_bfloat16 __float2bfloat16_rn(float);
__host__ __device__ float __bfloat162float(__nv_bfloat16);
__host__ __device__ __nv_bfloat162 __floats2bfloat162_rn(float, float);
__host__ __device__ __nv_bfloat162 __float22bfloat162_rn(float2);
__host__ __device__ float2 __bfloat1622float2(__nv_bfloat162);
__host__ __device__ __nv_bfloat162 __halves2bfloat162(__nv_bfloat16, __nv_bfloat16);
__host__ __device__ unsigned short __bfloat16_as_ushort(__nv_bfloat16);
__host__ __device__ __nv_bfloat16 __ushort_as_bfloat16(unsigned short);
)";

constexpr char kCudaFp8[] = R"(#pragma once
struct __nv_fp8_e4m3 {
  unsigned char __x;
  __nv_fp8_e4m3() = default;
  __host__ __device__ explicit __nv_fp8_e4m3(float);
  __host__ __device__ explicit operator float() const;
};
)";

constexpr char kClimits[] = "#pragma once\n#define INT_MAX __INT_MAX__\n";
constexpr char kCstdio[] = R"(#pragma once
#include <stddef.h>
typedef struct _IO_FILE FILE;
extern "C" FILE* stdin;
extern "C" FILE* stdout;
extern "C" FILE* stderr;
#define stdin stdin
#define stdout stdout
#define stderr stderr
#ifndef __CUDACC__
extern "C" int printf(const char*, ...);
#endif
extern "C" int fprintf(FILE*, const char*, ...);
extern "C" int snprintf(char*, size_t, const char*, ...);
extern "C" int puts(const char*);
namespace std { using ::FILE; using ::fprintf; using ::printf; using ::puts; using ::snprintf; }
)";

constexpr VirtualFile kHeaders[] = {
    {"algorithm", kAlgorithm},
    {"array", kArray},
    {"assert.h", "#include <cassert>\n"},
    {"atomic", kAtomic},
    {"bit", kBit},
    {"cassert", kCassert},
    {"climits", kClimits},
    {"cmath", kCmath},
    {"cstddef", kStddef},
    {"cstdint", kStdint},
    {"cstdio", kCstdio},
    {"cstring", kCstring},
    {"cuda.h", kCuda},
    {"cuda_bf16.h", kCudaBf16},
    {"cuda_fp16.h", kCudaFp16},
    {"cuda_fp8.h", kCudaFp8},
    {"cuda_runtime.h", kCudaRuntime},
    {"cuda_runtime_api.h", "#include <cuda_runtime.h>\n"},
    {"limits", kLimits},
    {"math.h", "#include <cmath>\n"},
    {"stddef.h", "#include <cstddef>\n"},
    {"stdint.h", "#include <cstdint>\n"},
    {"stdio.h", "#include <cstdio>\n"},
    {"string.h", "#include <cstring>\n"},
    {"type_traits", kTypeTraits},
    {"utility", kUtility},
    {"vector", kVector},
};

}  // namespace

llvm::ArrayRef<VirtualFile> stub_headers() {
  return kHeaders;
}

bool is_known(const VirtualFile& header, bool cuda) {
  return cuda || !header.name.starts_with("cuda");
}

std::string known_headers(bool cuda) {
  std::string list;
  for (const VirtualFile& header : kHeaders) {
    if (is_known(header, cuda)) list += "<" + header.name.str() + ">, ";
  }
  return list + "<tilepost/…>";
}

}  // namespace tilepost
