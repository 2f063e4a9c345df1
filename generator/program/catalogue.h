// A folder of compiled kernels, found by the keys of their variants (generator/plan/variant.h).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "generator/plan/variant.h"
#include "tilepost/program.h"

namespace tilepost {

// The file in a catalogue's folder that says what the others are. It is JSON:
//   {"tilepost_catalogue": 1, "version": "0.1.0", "abi": 5, "kernels": [
//     {"key": "host gemm_host.cpp:gemm_host …", "file": "0123456789abcdef.so"}, …]}
inline constexpr char kManifest[] = "catalogue.json";
inline constexpr int kCatalogueFormat = 1;

// A kernel in this process, until the last program that has it is destroyed.
struct LoadedKernel {
  const void* function = nullptr;                  // on a GPU
  tilepost_host_kernel_t host_function = nullptr;  // on the host target
  void* module = nullptr;
  void (*unload)(void* module) = nullptr;

  LoadedKernel() = default;
  ~LoadedKernel() {
    if (unload != nullptr) unload(module);
  }
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;
};

class Catalogue {
 public:
  // `loader` is null for kernels of the host target alone.
  Catalogue(std::string folder, const tilepost_kernel_loader_t* loader)
      : folder_(std::move(folder)), loader_(loader) {}

  // Reads the manifest.
  tilepost_result_t open();

  // Whether there is a kernel with this key.
  bool has(const std::string& key) const { return files_.contains(key); }

  // The kernel of this variant, whose key is `key`. Kernels are loaded once, as long as somebody
  // has them. Any thread may call this.
  tilepost_result_t find(Arch arch, const std::string& key,
                         std::shared_ptr<const LoadedKernel>& kernel);

 private:
  tilepost_result_t load_host(const std::string& path, LoadedKernel& kernel) const;
  tilepost_result_t load_gpu(const std::string& path, LoadedKernel& kernel) const;

  std::string folder_;
  const tilepost_kernel_loader_t* loader_;
  std::map<std::string, std::string> files_;                         // by key
  std::mutex mutex_;                                                 // of loaded_
  std::map<std::string, std::weak_ptr<const LoadedKernel>> loaded_;  // by file
};

}  // namespace tilepost
