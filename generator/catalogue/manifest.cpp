#include "generator/catalogue/manifest.h"

#include <fmt/format.h>

#include "generator/program/catalogue.h"
#include "llvm/Support/JSON.h"
#include "tilepost/version.h"

namespace tilepost {

std::string write_manifest(const ManifestFiles& files) {
  std::string text =
      fmt::format("{{\"tilepost_catalogue\": {}, \"version\": \"{}\", \"abi\": {}, \"kernels\": [",
                  kCatalogueFormat, TILEPOST_VERSION_STRING, TILEPOST_ABI_VERSION);
  const char* separator = "\n";
  for (const auto& [key, file] : files) {  // neither has letters that JSON would escape
    text += fmt::format("{}  {{\"key\": \"{}\", \"file\": \"{}\"}}", separator, key, file);
    separator = ",\n";
  }
  return text + "\n]}\n";
}

std::optional<ManifestFiles> read_manifest(llvm::StringRef text) {
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(text);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return std::nullopt;
  }
  const llvm::json::Object* const root = parsed->getAsObject();
  const bool same = root != nullptr && root->getInteger("tilepost_catalogue") == kCatalogueFormat &&
                    root->getString("version") == llvm::StringRef(TILEPOST_VERSION_STRING) &&
                    root->getInteger("abi") == TILEPOST_ABI_VERSION;
  const llvm::json::Array* const kernels = same ? root->getArray("kernels") : nullptr;
  if (kernels == nullptr) return std::nullopt;
  ManifestFiles files;
  for (const llvm::json::Value& item : *kernels) {
    const llvm::json::Object* const kernel = item.getAsObject();
    const auto key = kernel != nullptr ? kernel->getString("key") : std::nullopt;
    const auto file = kernel != nullptr ? kernel->getString("file") : std::nullopt;
    if (!key || !file) return std::nullopt;
    files[key->str()] = file->str();
  }
  return files;
}

}  // namespace tilepost
