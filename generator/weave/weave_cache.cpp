#include "generator/weave/weave_cache.h"

#include <tuple>

namespace tilepost {

std::optional<WovenKernel> weave_cached(const WeaveRequest& request, Diagnostics& diagnostics) {
  using Key =
      std::tuple<std::string, std::string, std::string, std::map<std::string, std::string>,
                 std::vector<std::string>, std::string, bool, bool, bool, bool, std::string>;
  static std::map<Key, WovenKernel> cache;
  const Key key{request.file,   request.source,    request.function,  request.tunables,
                request.keep,   request.view_type, request.cuda,      request.waits,
                request.stores, request.tasks,     request.arch_guard};
  if (const auto found = cache.find(key); found != cache.end()) return found->second;
  std::optional<WovenKernel> woven = weave(request, diagnostics);
  if (woven) cache.emplace(key, *woven);
  return woven;
}

}  // namespace tilepost
