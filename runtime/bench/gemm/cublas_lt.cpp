#include "runtime/bench/gemm/cublas_lt.h"

#include <algorithm>
#include <array>

#include "runtime/bench/gemm/kernel_names.h"
#include "runtime/bench/gpu/checked.h"
#include "runtime/cuda/device/dtypes.h"

namespace tilepost::bench {
namespace {

constexpr size_t kWorkspaceBytes = size_t{64} << 20;
// The parts of a sum are added in fp32, as in our kernels, and are not rounded to the output's type
// before they are added.
constexpr uint32_t kReductions =
    CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;

// cuBLASLt has scales of rows and columns, and of blocks, since CUDA 12.9.
#if CUBLAS_VERSION >= 120900
constexpr bool kHasVectorScales = true;
constexpr auto kVectorScales = CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
constexpr auto kScalesOfRows = CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
constexpr auto kScalesOfSquares = CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
#else
constexpr bool kHasVectorScales = false;
constexpr auto kVectorScales = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
constexpr auto kScalesOfRows = kVectorScales, kScalesOfSquares = kVectorScales;
#endif

// The operations of the epilogue that cuBLASLt computes: all of the plan's or none, so that it is
// clear what is compared. cuBLASLt has no silu. It adds the residual before the activation and not
// after it. It takes scales of rows and columns only together, and only with 8-bit inputs (cuBLAS
// documentation, cublasLtEpilogue_t, cublasLtMatmulMatrixScale_t).
int supported(const Product& product) {
  constexpr int kVectors = TILEPOST_SCALE_ROWS | TILEPOST_SCALE_COLUMNS;
  const int wanted = product.operations, vectors = wanted & kVectors;
  if ((wanted & TILEPOST_SILU) != 0) return 0;
  if ((wanted & TILEPOST_RESIDUAL) != 0 && (wanted & kActivations) != 0) return 0;
  if (vectors != 0 && (vectors != kVectors || !row_of(product.input).is_narrow())) return 0;
  if (vectors != 0 && !kHasVectorScales) return 0;
  return wanted;
}

constexpr int kRounds = 7;  // including the first, which does not count

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

// cuBLASLt's matrices are column-major, and ours are row-major. So cuBLASLt computes out^T = B^T *
// A^T, and its first operand is our B.
CublasLt::CublasLt(const Product& product, int64_t rows, float scale, bool fast_accumulation,
                   int sms)
    : operations_(supported(product)),
      float8_(row_of(product.input).is_narrow()),
      scale_(scale),
      workspace_(allocate(kWorkspaceBytes)) {
  TILEPOST_BENCH_STATUS(cublasLtCreate(&handle_));
  describe(product, rows, fast_accumulation, sms);
  describe_epilogue(product);
  describe_blocks(product.blocks);
  if (product.blocks.a == nullptr || kHasVectorScales) find_algorithms();
}

CublasLt::~CublasLt() {
  if (a_ != nullptr) cublasLtMatrixLayoutDestroy(a_);
  if (b_ != nullptr) cublasLtMatrixLayoutDestroy(b_);
  if (out_ != nullptr) cublasLtMatrixLayoutDestroy(out_);
  if (operation_ != nullptr) cublasLtMatmulDescDestroy(operation_);
  if (handle_ != nullptr) cublasLtDestroy(handle_);
}

template <class T>
void CublasLt::set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
  TILEPOST_BENCH_STATUS(
      cublasLtMatmulDescSetAttribute(operation_, attribute, &value, sizeof value));
}

void CublasLt::describe(const Product& product, int64_t rows, bool fast_accumulation, int sms) {
  const cudaDataType_t input = cuda::library_types(product.input).cublas,
                       output = cuda::library_types(product.output).cublas;
  const auto m = static_cast<uint64_t>(rows), n = static_cast<uint64_t>(product.n),
             k = static_cast<uint64_t>(product.k);
  TILEPOST_BENCH_STATUS(cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  set(CUBLASLT_MATMUL_DESC_TRANSA, product.nn ? CUBLAS_OP_N : CUBLAS_OP_T);
  set(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N);
  if (float8_) set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<int8_t>(fast_accumulation));
  if (sms > 0) set(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, static_cast<int32_t>(sms));
  TILEPOST_BENCH_STATUS(product.nn ? cublasLtMatrixLayoutCreate(&a_, input, n, k, product.n)
                                   : cublasLtMatrixLayoutCreate(&a_, input, k, n, product.k));
  TILEPOST_BENCH_STATUS(cublasLtMatrixLayoutCreate(&b_, input, k, m, product.k));
  TILEPOST_BENCH_STATUS(cublasLtMatrixLayoutCreate(&out_, output, n, m, product.n));
}

void CublasLt::describe_epilogue(const Product& product) {
  const tilepost_epilogue_t& operands = product.epilogue;
  if ((operations_ & TILEPOST_SCALE_ROWS) != 0) {
    set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, static_cast<int32_t>(kVectorScales));
    set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, static_cast<int32_t>(kVectorScales));
  }
  if (float8_ && operations_ & (TILEPOST_SCALE | TILEPOST_SCALE_ROWS)) {
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, operands.scale_b);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, operands.scale_a);
  }
  const bool bias = (operations_ & TILEPOST_BIAS) != 0, gelu = (operations_ & TILEPOST_GELU) != 0;
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, bias && gelu ? CUBLASLT_EPILOGUE_GELU_BIAS
                                     : bias       ? CUBLASLT_EPILOGUE_BIAS
                                     : gelu       ? CUBLASLT_EPILOGUE_GELU
                                                  : CUBLASLT_EPILOGUE_DEFAULT);
  if (!bias) return;
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.bias);
  set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE,
      static_cast<int32_t>(cuda::library_types(product.output).cublas));
}

// It has no algorithm unless m is a multiple of 4 (rows_for_cublas).
void CublasLt::describe_blocks(const BlockScales& blocks) {
  if (blocks.a == nullptr) return;
  set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, static_cast<int32_t>(kScalesOfSquares));
  set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, static_cast<int32_t>(kScalesOfRows));
  set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, blocks.cublas_b);
  set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, blocks.cublas_a);
}

void CublasLt::find_algorithms() {
  cublasLtMatmulPreference_t preference = nullptr;
  TILEPOST_BENCH_STATUS(cublasLtMatmulPreferenceCreate(&preference));
  TILEPOST_BENCH_STATUS(
      cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                           &kWorkspaceBytes, sizeof kWorkspaceBytes));
  TILEPOST_BENCH_STATUS(cublasLtMatmulPreferenceSetAttribute(
      preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &kReductions, sizeof kReductions));
  std::array<cublasLtMatmulHeuristicResult_t, kCandidates> found{};
  int count = 0;
  // Returns CUBLAS_STATUS_NOT_SUPPORTED if there is no algorithm.
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle_, operation_, a_, b_, out_, out_, preference, kCandidates, found.data(), &count);
  cublasLtMatmulPreferenceDestroy(preference);
  if (status != CUBLAS_STATUS_SUCCESS && status != CUBLAS_STATUS_NOT_SUPPORTED)
    check_status(status, "cublasLtMatmulAlgoGetHeuristic");
  for (int i = 0; status == CUBLAS_STATUS_SUCCESS && i < count; ++i)
    if (found[i].state == CUBLAS_STATUS_SUCCESS) algorithms_.push_back(found[i].algo);
}

void CublasLt::launch(const OperandSet& set, int candidate, cudaStream_t stream) {
  const float alpha = (operations_ & TILEPOST_SCALE) != 0 && !float8_ ? scale_ : 1;
  const bool residual = (operations_ & TILEPOST_RESIDUAL) != 0;
  const float beta = residual ? 1 : 0;
  TILEPOST_BENCH_STATUS(cublasLtMatmul(
      handle_, operation_, &alpha, set.b, a_, set.a, b_, &beta, residual ? set.residual : set.out,
      out_, set.out, out_, &algorithms_[candidate], workspace_.get(), kWorkspaceBytes, stream));
}

std::string CublasLt::kernels_of(const OperandSet& set, int candidate, cudaStream_t stream) {
  return kernel_names([&] { launch(set, candidate, stream); }, stream);
}

int fastest_candidate(CublasLt& cublas, const Operands& operands, const Mode& mode, Timer& timer,
                      cudaStream_t stream) {
  std::vector<Variant> variants;
  for (int i = 0; i < cublas.candidates(); ++i)
    variants.push_back({"cublaslt", [&cublas, &operands, i, stream](int set) {
                          cublas.launch(operands.set(set), i, stream);
                        }});
  const int burst = std::max(1, timer.warm_up(mode, variants) / (mode.rest_ms > 0 ? 1 : 2));
  std::vector<std::vector<double>> times(variants.size());
  for (int round = 0; round < kRounds; ++round) {
    const Round measured = timer.round(mode, burst, variants);
    for (size_t i = 0; round > 0 && i < times.size(); ++i) times[i].push_back(measured.us[i]);
  }
  int best = 0;
  double least = median(times[0]);
  for (int i = 1; i < cublas.candidates(); ++i)
    if (const double time = median(times[i]); time < least) best = i, least = time;
  return best;
}

}  // namespace tilepost::bench
