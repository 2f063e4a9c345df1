#include "runtime/verify/cuda/cuda_device.h"

#include <algorithm>
#include <memory>

#include "runtime/verify/cuda/kernels.h"

namespace tilepost::verify {
namespace {

// Device memory that a reference needs, freed with this object.
template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t count) {
    void* memory = nullptr;
    check_cuda(cudaMalloc(&memory, static_cast<size_t>(count) * sizeof(T)), "cudaMalloc");
    data_ = static_cast<T*>(memory);
  }
  ~Scratch() { cudaFree(data_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* get() const { return data_; }

 private:
  T* data_ = nullptr;
};

}  // namespace

void check_cuda(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  throw TargetError(std::string(call) + ": " + cudaGetErrorString(error));
}

CudaDevice::~CudaDevice() {
  if (stream_ == nullptr) return;
  cudaSetDevice(device_);
  cudaStreamDestroy(stream_);
}

void CudaDevice::enter() {
  check_cuda(cudaSetDevice(device_), "cudaSetDevice");
  if (stream_ == nullptr)
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
}

void* CudaDevice::allocate(size_t bytes) {
  void* memory = nullptr;
  check_cuda(cudaMalloc(&memory, bytes), "cudaMalloc");
  return memory;
}

void CudaDevice::release(void* memory) {
  cudaFree(memory);
}

void CudaDevice::fill_bytes(void* memory, int byte, size_t bytes) {
  check_cuda(cudaMemsetAsync(memory, byte, bytes, stream_), "cudaMemsetAsync");
}

void CudaDevice::copy_to_host(void* target, const void* source, size_t bytes) {
  check_cuda(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToHost, stream_),
             "cudaMemcpyAsync");
  check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

void CudaDevice::copy_to_device(void* target, const void* source, size_t bytes) {
  check_cuda(cudaMemcpyAsync(target, source, bytes, cudaMemcpyHostToDevice, stream_),
             "cudaMemcpyAsync");
  check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

void CudaDevice::fill_operand(void* data, int64_t count, const Distribution& distribution,
                              uint64_t stream, tilepost_dtype_t type) {
  check_cuda(verify::fill_operand(data, count, distribution, stream, type, stream_),
             "fill_operand");
}

void CudaDevice::fill_scales(float* data, int64_t count, const Distribution& distribution,
                             uint64_t stream) {
  check_cuda(verify::fill_scales(data, count, distribution, stream, stream_), "fill_scales");
}

// Every rank's operands are made again on this GPU, one rank after the other.
void CudaDevice::reference(const ReferenceJob& job) {
  const Problem& problem = job.problem;
  const bool exact = job.distribution.kind == DataKind::exact;
  const int64_t elements = job.num_rows * problem.n;
  const Scratch<int64_t> rows(job.num_rows);
  const auto num_origins = static_cast<int64_t>(job.origins.size());
  const Scratch<RowOrigin> origins(std::max<int64_t>(1, num_origins));
  const Scratch<float> a(job.num_rows * problem.k), b(problem.n * problem.k);
  const Scratch<float> a_norms(job.num_rows), b_norms(problem.n);
  const Scratch<double> sum(elements);
  const Scratch<float> bound(elements), narrowed(elements);
  check_cuda(cudaMemcpyAsync(rows.get(), job.rows, job.num_rows * sizeof(int64_t),
                             cudaMemcpyHostToDevice, stream_),
             "cudaMemcpyAsync");
  check_cuda(cudaMemcpyAsync(origins.get(), job.origins.data(), job.origins.size_bytes(),
                             cudaMemcpyHostToDevice, stream_),
             "cudaMemcpyAsync");
  fill_bytes(sum.get(), 0, elements * sizeof(double));
  fill_bytes(bound.get(), 0, elements * sizeof(float));
  for (int rank = job.first_rank; rank < job.end_rank; ++rank) {
    const uint64_t b_stream =
        stream_of_expert(stream_of(job.seed, job.run, rank, Matrix::b), job.expert);
    check_cuda(
        fill_rows(a.get(), rows.get(), job.num_rows, problem, job.distribution,
                  {job.seed, job.run, rank, num_origins > 0 ? origins.get() : nullptr}, stream_),
        "fill_rows");
    check_cuda(fill_columns(b.get(), problem, job.distribution, b_stream,
                            stream_of(job.seed, job.run, rank, Matrix::scale_b), stream_),
               "fill_columns");
    check_cuda(row_norms(a.get(), job.num_rows, problem.k, a_norms.get(), stream_), "row_norms");
    check_cuda(row_norms(b.get(), problem.n, problem.k, b_norms.get(), stream_), "row_norms");
    check_cuda(add_products({a.get(), b.get(), a_norms.get(), b_norms.get(), rows.get(),
                             job.num_rows, problem.n, problem.k, job.weights,
                             epilogue_source(job, rank), sum.get(), bound.get()},
                            exact, stream_),
               "add_products");
  }
  check_cuda(
      finish_sums({rows.get(), job.num_rows, problem.n, job.weights,
                   epilogue_source(job, job.first_rank), sum.get(), bound.get(), narrowed.get()},
                  stream_),
      "finish_sums");
  copy_to_host(job.sum, narrowed.get(), elements * sizeof(float));
  copy_to_host(job.bound, bound.get(), elements * sizeof(float));
}

}  // namespace tilepost::verify
