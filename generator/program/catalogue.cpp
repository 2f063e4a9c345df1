#include "generator/program/catalogue.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

#include "generator/program/messages.h"
#include "generator/spec/tree/read_value.h"
#include "runtime/core/error.h"
#include "tilepost/version.h"

namespace tilepost {
namespace {

// What a file holds; nothing if it cannot be read, with the reason in errno.
std::optional<std::string> read_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) return std::nullopt;
  return text;
}

tilepost_result_t cannot_read(const std::string& path) {
  return fail(TILEPOST_INVALID_ARGUMENT, "cannot read '%s': %s", path.c_str(),
              errno != 0 ? std::strerror(errno) : "it is no file");
}

// The scalar of that name in a mapping, or null.
const Value* scalar_in(const Value& mapping, std::string_view name) {
  const Entry* const entry = mapping.find(name);
  const bool found = entry != nullptr && entry->value.kind == Value::Kind::scalar;
  return found ? &entry->value : nullptr;
}

tilepost_result_t wrong_manifest(const std::string& path, const std::string& what) {
  return fail(TILEPOST_INVALID_ARGUMENT, "'%s' is no manifest of a catalogue: %s", path.c_str(),
              what.c_str());
}

// A catalogue's kernels are called with structures of one version of the ABI, and one version of
// the tool plans for them.
tilepost_result_t check_versions(const std::string& path, const Value& root) {
  const Value* const format = scalar_in(root, "tilepost_catalogue");
  const Value* const version = scalar_in(root, "version");
  const Value* const abi = scalar_in(root, "abi");
  if (format == nullptr || version == nullptr || abi == nullptr)
    return wrong_manifest(path, "tilepost_catalogue, version or abi is missing");
  if (format->text == std::to_string(kCatalogueFormat) &&
      version->text == TILEPOST_VERSION_STRING && abi->text == std::to_string(TILEPOST_ABI_VERSION))
    return TILEPOST_OK;
  return fail(TILEPOST_UNSUPPORTED,
              "'%s' was written by tilepost %s (catalogue format %s, ABI %s), this is tilepost %s "
              "(format %d, ABI %d); write it again with the 'tilepost catalogue' of this version",
              path.c_str(), version->text.c_str(), format->text.c_str(), abi->text.c_str(),
              TILEPOST_VERSION_STRING, kCatalogueFormat, TILEPOST_ABI_VERSION);
}

// Whether `name` names a file of the folder itself.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string::npos;
}

}  // namespace

tilepost_result_t Catalogue::open() {
  const std::string path = folder_ + "/" + kManifest;
  std::optional<std::string> text = read_file(path);
  if (!text) return cannot_read(path);
  std::ranges::replace_if(
      *text, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  Messages messages;
  const std::optional<Value> root = read_value(messages.add_source(kManifest, *text), messages);
  if (!root || root->kind != Value::Kind::mapping)
    return wrong_manifest(path, "it is not one mapping");
  TILEPOST_TRY(check_versions(path, *root));
  const Entry* const kernels = root->find("kernels");
  if (kernels == nullptr || kernels->value.kind != Value::Kind::sequence)
    return wrong_manifest(path, "it has no list 'kernels'");
  for (const Value& item : kernels->value.items) {
    const Value* const key = scalar_in(item, "key");
    const Value* const file = scalar_in(item, "file");
    if (key == nullptr || file == nullptr || !is_plain_name(file->text))
      return wrong_manifest(path, "a kernel has no key, or no file of this folder");
    files_[key->text] = file->text;
  }
  return TILEPOST_OK;
}

tilepost_result_t Catalogue::find(Arch arch, const std::string& key,
                                  std::shared_ptr<const LoadedKernel>& kernel) {
  const auto found = files_.find(key);
  if (found == files_.end())
    return fail(TILEPOST_UNSUPPORTED,
                "the catalogue '%s', of %zu kernels, has no '%s'; 'tilepost catalogue -o %s' adds "
                "the kernels of the specs that it is given",
                folder_.c_str(), files_.size(), key.c_str(), folder_.c_str());
  const std::lock_guard lock(mutex_);
  std::weak_ptr<const LoadedKernel>& known = loaded_[found->second];
  kernel = known.lock();
  if (kernel != nullptr) return TILEPOST_OK;
  const std::string path = folder_ + "/" + found->second;
  const auto loaded = std::make_shared<LoadedKernel>();
  TILEPOST_TRY(arch == Arch::host ? load_host(path, *loaded) : load_gpu(path, *loaded));
  known = kernel = loaded;
  return TILEPOST_OK;
}

tilepost_result_t Catalogue::load_host(const std::string& path, LoadedKernel& kernel) const {
  // A path without a slash would be looked for in the system's folders.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  kernel.module = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (kernel.module == nullptr)
    return fail(TILEPOST_INVALID_ARGUMENT, "cannot load the kernel: %s", dlerror());
  kernel.unload = [](void* module) { dlclose(module); };
  void* const symbol = dlsym(kernel.module, kHostEntry);
  if (symbol == nullptr)
    return fail(TILEPOST_INVALID_ARGUMENT, "'%s' has no function '%s'; write the catalogue again",
                path.c_str(), kHostEntry);
  kernel.host_function = reinterpret_cast<tilepost_host_kernel_t>(symbol);
  return TILEPOST_OK;
}

tilepost_result_t Catalogue::load_gpu(const std::string& path, LoadedKernel& kernel) const {
  if (loader_ == nullptr)
    return fail(TILEPOST_UNSUPPORTED,
                "the catalogue '%s' was opened without a loader for kernels of GPUs; open it with "
                "tilepost_cuda_kernel_loader()",
                folder_.c_str());
  const std::optional<std::string> image = read_file(path);
  if (!image) return cannot_read(path);
  TILEPOST_TRY(
      loader_->load(image->data(), image->size(), path.c_str(), &kernel.function, &kernel.module));
  kernel.unload = loader_->unload;
  return TILEPOST_OK;
}

}  // namespace tilepost
