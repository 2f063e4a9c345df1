// A profiler in the place of Nsight Systems: the library that NVTX loads where
// NVTX_INJECTION64_PATH says so. It writes down what it is told, a line for each call.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <deque>
#include <mutex>
#include <string>

namespace {

std::mutex mutex;
std::string lines;
std::deque<std::string> texts;  // those that were registered
std::string domains;            // its address is the handle of all domains

void write(const std::string& line) {
  const std::lock_guard lock(mutex);
  lines += line + "\n";
}

nvtxDomainHandle_t create_domain(const char* name) {
  write(std::string("domain ") + name);
  return reinterpret_cast<nvtxDomainHandle_t>(&domains);
}

nvtxStringHandle_t register_text(nvtxDomainHandle_t, const char* text) {
  write("register");
  const std::lock_guard lock(mutex);
  return reinterpret_cast<nvtxStringHandle_t>(&texts.emplace_back(text));
}

int push(nvtxDomainHandle_t, const nvtxEventAttributes_t* range) {
  if (range->messageType != NVTX_MESSAGE_TYPE_REGISTERED) {
    write("push without a registered text");
    return 0;
  }
  const auto* text = reinterpret_cast<const std::string*>(range->message.registered);
  const bool number = range->payloadType == NVTX_PAYLOAD_TYPE_INT64;
  write("push " + *text + (number ? " " + std::to_string(range->payload.llValue) : ""));
  return 0;
}

int pop(nvtxDomainHandle_t) {
  write("pop");
  return 0;
}

void name_stream(cudaStream_t, const char* name) {
  write(std::string("stream ") + name);
}

template <class Function>
void set(NvtxFunctionTable table, unsigned int size, unsigned int id, Function function) {
  if (id < size) *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

// NVTX calls this once.
extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t export_table) {
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks == nullptr) return 0;
  if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size)) return 0;
  set(table, size, NVTX_CBID_CORE2_DomainCreateA, create_domain);
  set(table, size, NVTX_CBID_CORE2_DomainRegisterStringA, register_text);
  set(table, size, NVTX_CBID_CORE2_DomainRangePushEx, push);
  set(table, size, NVTX_CBID_CORE2_DomainRangePop, pop);
  if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CUDART, &table, &size)) return 0;
  set(table, size, NVTX_CBID_CUDART_NameCudaStreamA, name_stream);
  return 1;
}

// What was written since the last call, for tests.
extern "C" const char* take_nvtx_lines() {
  static std::string taken;
  const std::lock_guard lock(mutex);
  taken.swap(lines);
  lines.clear();
  return taken.c_str();
}
