#include "runtime/cuda/watch/nvtx.h"

#if !defined(TILEPOST_NO_NVTX) && __has_include(<nvtx3/nvToolsExtCudaRt.h>)
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>

#include "runtime/map/patterns.h"

namespace tilepost::cuda {
namespace {

constexpr std::array<const char*, kNvtxParts> kPartNames = {
    "create", "run", "GEMM", "group", "synchronize", "route", "destroy"};

// Null where no profiler listens: NVTX then returns null here, whatever is asked of it.
nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t made = nvtxDomainCreateA("tilepost");
  return made;
}

}  // namespace

NvtxRange::NvtxRange(nvtxStringRegistration_st* text, int64_t payload) : open_(true) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  attributes.payload.llValue = payload;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = text;
  nvtxDomainRangePushEx(domain(), &attributes);
}

void NvtxRange::close() {
  nvtxDomainRangePop(domain());
}

void NvtxNames::create(const char* operation, const tilepost_plan_t& plan, int rank) {
  listened_ = domain() != nullptr;
  if (!listened_) return;
  const std::string which = " rank " + std::to_string(rank) + ": ";
  owner_ = "tilepost " + (operation + which);
  for (size_t part = 0; part < texts_.size(); ++part) {
    const std::string text =
        std::string(operation) + " " + row_of(plan).name + which + kPartNames[part];
    texts_[part] = nvtxDomainRegisterStringA(domain(), text.c_str());
  }
}

void NvtxNames::put_name(cudaStream_t stream, const char* contents, int lane, int peer) const {
  std::string name = owner_ + contents;
  if (peer >= 0) name += " rank " + std::to_string(peer);
  if (lane >= 0) name += ", lane " + std::to_string(lane);
  nvtxNameCudaStreamA(stream, name.c_str());
}

}  // namespace tilepost::cuda

#else

namespace tilepost::cuda {

NvtxRange::NvtxRange(nvtxStringRegistration_st* /*text*/, int64_t /*payload*/) {}
void NvtxRange::close() {}
void NvtxNames::create(const char* /*operation*/, const tilepost_plan_t& /*plan*/, int /*rank*/) {}
void NvtxNames::put_name(cudaStream_t /*stream*/, const char* /*contents*/, int /*lane*/,
                         int /*peer*/) const {}

}  // namespace tilepost::cuda

#endif
