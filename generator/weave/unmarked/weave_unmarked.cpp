#include "generator/weave/unmarked/weave_unmarked.h"

#include <algorithm>

#include "clang/AST/Attr.h"
#include "generator/clang/instantiate.h"
#include "generator/weave/marked/find_marks.h"
#include "generator/weave/marked/weave_marked.h"
#include "generator/weave/marks/hand_down.h"
#include "generator/weave/passes.h"
#include "generator/weave/pieces/global_names.h"
#include "generator/weave/unmarked/device_variables.h"
#include "generator/weave/unmarked/dynamic_shared.h"
#include "generator/weave/unmarked/header_places.h"
#include "generator/weave/unmarked/read_with.h"
#include "generator/weave/unmarked/source_values.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {
namespace {

using clang::dyn_cast;
using llvm::StringRef;

// The parameters that tell a block its place. The kernel's body, and functions it calls that ask
// for the place, get parameters of these names, which hide CUDA's variables.
constexpr char kParameters[] = "const ::uint3 blockIdx, const ::dim3 gridDim";

constexpr char kViewAlias[] = "using TilepostView = View;\n\n";

// Keeps the includes sorted.
void add_include(WovenKernel& woven, const std::string& include) {
  const auto at = std::ranges::lower_bound(woven.includes, include);
  if (at == woven.includes.end() || *at != include) woven.includes.insert(at, include);
}

class Weaver {
 public:
  Weaver(const Parsed& parsed, const UnmarkedRequest& request, const Instance& instance)
      : parsed_(parsed), request_(request), instance_(instance) {}

  WovenKernel weave() {
    Pieces pieces = cut_into_pieces(parsed_);
    const WeaveRequest names = cut(pieces);
    check_macros(pieces);
    check_global_names(parsed_, pieces);
    check_header_places(parsed_, instance_.function);
    check_device_variables(parsed_, instance_.function);
    check_source_values(parsed_, instance_.function);
    const ReadWith read_with = check_foreign_macros(parsed_, pieces, request_.one_arch);
    Edits edits;
    hand_place_down(pieces, edits);
    for (const clang::FunctionDecl* one : declarations_of(representative(instance_.written)))
      make_callable(one, pieces, edits);
    wrap_kernel(parsed_, names, pieces, edits);
    if (!parsed_.report.ok()) return {};
    WovenKernel woven = assemble(parsed_, names, pieces, edits);
    woven.by_arch = read_with.arch;
    if (request_.clears_output) add_include(woven, "<tilepost/device/clear_tile.cuh>");
    const bool launched = !request_.launcher.empty();
    woven.body =
        guards(read_with, request_.reading, request_.kernel) + (launched ? kViewAlias : "") +
        "// As its author wrote it, but that it is told which block it is.\nnamespace user {\n\n" +
        using_of_global(parsed_, instance_.function) + woven.body + "\n}  // namespace user\n\n" +
        shared_memory() + user_type(request_) + request_.helpers +
        (launched ? launched_kernel() : kernel() + woven_launch());
    return woven;
  }

  WovenKernel plain() {
    Pieces pieces = cut_into_pieces(parsed_);
    const WeaveRequest names = cut(pieces);
    Edits edits;
    wrap_kernel(parsed_, names, pieces, edits);
    if (!parsed_.report.ok()) return {};
    WovenKernel kept = assemble(parsed_, names, pieces, edits);
    add_include(kept, "<tilepost/mark.cuh>");  // un-woven marks do nothing
    kept.body = "namespace user {\n\n" + using_of_global(parsed_, instance_.function) +
                joined_namespaces(parsed_) + kept.body + "\n}  // namespace user\n\n" +
                shared_memory() + user_type(request_) + launch();
    return kept;
  }

 private:
  // Marks the pieces of the file that the kernel needs.
  WeaveRequest cut(Pieces& pieces) const {
    WeaveRequest names;
    names.source = request_.source.text;
    if (mark_launched(parsed_, instance_, request_.launcher, pieces))
      check_kept(parsed_, names, pieces);
    return names;
  }

  // Refuses macros that would change the parameters that tell the kernel its place.
  void check_macros(const Pieces& pieces) const {
    constexpr StringRef kNames[] = {"blockIdx", "gridDim", "uint3", "dim3"};
    for (const Piece& piece : pieces.all) {
      if (!piece.keep || piece.kind != Piece::Kind::define) continue;
      std::vector<StringRef> names = parameters_of(piece);
      names.push_back(piece.name);
      for (const StringRef name : names)
        if (llvm::is_contained(kNames, name))
          parsed_.error_at(piece.code, "a macro of the name '" + name +
                                           "' hides what the kernel is told its block with; give "
                                           "it another name");
    }
  }

  // The parameters of a macro: the words in the parentheses right behind its name.
  std::vector<StringRef> parameters_of(const Piece& define) const {
    const size_t at = parsed_.text.text.find(define.name, define.code.begin);
    const Token* token = at == StringRef::npos ? nullptr : parsed_.tokens.at(at);
    const Token* const open = token ? parsed_.tokens.next(token) : nullptr;
    std::vector<StringRef> names;
    if (!open || open->kind != clang::tok::l_paren || open->begin != token->end) return names;
    for (token = open; token && token->kind != clang::tok::r_paren;
         token = parsed_.tokens.next(token))
      names.push_back(parsed_.tokens.text(*token));
    return names;
  }

  void hand_place_down(const Pieces& pieces, Edits& edits) const {
    const std::vector<Reference> references = kept_references(parsed_, pieces);
    HandDown down(parsed_, pieces, references, representative(instance_.written),
                  {kParameters, "blockIdx, gridDim", "&blockIdx, &gridDim", "asks for its block"},
                  edits);
    for (const Reference& reference : references)
      if (reference.place) down.enter(reference, "the block's place");
    down.run();
  }

  // Makes the kernel a device function without `__launch_bounds__(…)` and `__maxnreg__(…)`. Its
  // place comes in front of its parameters, because default arguments must stay last.
  void make_callable(const clang::FunctionDecl* one, const Pieces& pieces, Edits& edits) {
    const auto name = parsed_.spelled(one->getLocation());
    const int piece = name ? pieces.at(*name) : -1;
    const Token* const open = open_of(parsed_, one);
    if (!open) return;
    bool found = false;
    for (const Token& token : parsed_.tokens.all()) {
      if (piece < 0 || token.begin >= open->begin) break;
      if (token.begin < pieces.all[static_cast<size_t>(piece)].code.begin) continue;
      const StringRef word = parsed_.tokens.text(token);
      if (word == "__global__") {
        edits.replace(token.begin, token.end, "__device__ __forceinline__");
        found = true;
      } else if (word == "__launch_bounds__" || word == "__maxnreg__") {
        erase_call(token, edits);
      }
    }
    if (!found) {
      parsed_.error(one->getLocation(),
                    "the kernel's __global__ is not written here; a macro that "
                    "stands for it cannot be woven: write it out");
      return;
    }
    edits.insert(open->end, std::string(kParameters) + ", ");  // it has an output at least
    for (size_t i = 0; i < instance_.parameters.size(); ++i)
      if (instance_.parameters[i].grid_constant) refer(one->getParamDecl(i), edits);
  }

  // A __grid_constant__ parameter becomes a reference. The kernel may take its address, which must
  // be that of the woven kernel's own parameter.
  void refer(const clang::ParmVarDecl* parameter, Edits& edits) const {
    const auto name = parsed_.spelled(parameter->getLocation());
    const Token* token = name ? parsed_.tokens.at(*name) : nullptr;
    if (token) edits.insert(token->begin, "& ");
    while (token && parsed_.tokens.text(*token) != "__grid_constant__")
      token = parsed_.tokens.previous(token);
    if (token)
      edits.erase(token->begin, token->end);
    else
      parsed_.error(parameter->getLocation(),
                    "this parameter's __grid_constant__ is not written here; write it out");
  }

  void erase_call(const Token& word, Edits& edits) {
    const Token* token = parsed_.tokens.next(&word);
    int depth = 0;
    for (; token; token = parsed_.tokens.next(token)) {
      depth += (token->kind == clang::tok::l_paren) - (token->kind == clang::tok::r_paren);
      if (depth == 0) break;
    }
    if (token) edits.erase(word.begin, token->end);
  }

  // ---- The woven kernel

  std::string number(const clang::Expr* bound) const {
    clang::Expr::EvalResult value;
    if (!bound || !bound->EvaluateAsInt(value, parsed_.ast)) return "";
    return llvm::toString(value.Val.getInt(), 10);
  }

  // The number in `__maxnreg__`, which excludes other bounds.
  std::optional<int64_t> most_registers() const {
    clang::Expr::EvalResult value;
    for (const auto* note : instance_.function->specific_attrs<clang::AnnotateAttr>())
      if (note->getAnnotation() == "maxnreg" && note->args_size() == 1 &&
          (*note->args_begin())->EvaluateAsInt(value, parsed_.ast))
        return value.Val.getInt().getExtValue();
    return std::nullopt;
  }

  // The author's launch bounds. Weaving adds a few registers, which must not reduce the blocks that
  // an SM holds, so blocks_per_sm is a bound too. Nor must they prevent a launch, so blocks for
  // whose threads an SM may have too few registers are bounded as well.
  std::string bounds() const {
    constexpr int64_t kRegisters = 65536, kMostOfThread = 255, kGranule = 8;
    const int64_t launched = request_.threads[0] * request_.threads[1] * request_.threads[2];
    if (const std::optional<int64_t> most = most_registers()) {
      const int64_t held = kRegisters / launched / kGranule * kGranule;
      return "__maxnreg__(" + std::to_string(std::min(*most, held)) + ") ";
    }
    const auto* bounds = instance_.function->getAttr<clang::CUDALaunchBoundsAttr>();
    std::string threads = bounds ? number(bounds->getMaxThreads()) : "";
    std::string blocks = bounds ? number(bounds->getMinBlocks()) : "";
    if (blocks.empty() && request_.blocks_per_sm > 1)
      blocks = std::to_string(request_.blocks_per_sm);
    if (threads.empty() && (!blocks.empty() || launched * kMostOfThread > kRegisters))
      threads = std::to_string(launched);
    if (threads.empty()) return "";
    return "__launch_bounds__(" + threads + (blocks.empty() ? "" : ", " + blocks) + ") ";
  }

  // The argument for a parameter; to the output `moved` is added.
  std::string argument(const Parameter& parameter, const char* moved) const {
    const std::string given = argument_of(parsed_, request_, parameter);
    return parameter.name == request_.out ? given + moved : given;
  }

  static std::string extents(const std::array<std::string, 3>& list) {
    std::string text;
    for (const std::string& extent : list)
      text += (text.empty() ? "static_cast<unsigned>(" : ", static_cast<unsigned>(") + extent + ")";
    return text;
  }

  std::string kernel() const {
    std::string arguments;
    for (const Parameter& parameter : instance_.parameters)
      arguments += ",\n        " + argument(parameter, " + moved");
    return kernel_with(
        std::string(
            "void* a, void* b, void* c, const __grid_constant__ tilepost_shape_t shape,\n") +
            "    const __grid_constant__ tilepost_epilogue_t, " +
            std::string(request_.num_user > 0 ? "const __grid_constant__ TilepostUser data_,\n    "
                                              : "") +
            "const __grid_constant__ View view_) {\n",
        {"user::" + request_.reading.asked, arguments,
         request_.clears_output ? argument(output(), "") : ""});
  }

  // The kernel with its launcher's arguments, for one shape. The kernel gets the arguments that the
  // proof used, whatever its launcher gives. It is in the user's namespace, where its types have
  // their names.
  std::string launched_kernel() const {
    std::string parameters, arguments, output;
    for (size_t i = 0; i < instance_.parameters.size(); ++i) {
      const Parameter& parameter = instance_.parameters[i];
      const std::string name = "argument" + std::to_string(i);
      std::string declared = parameter.declared;
      if (const size_t at = declared.rfind(parameter.name); at != std::string::npos)
        declared.replace(at, parameter.name.size(), name);
      parameters += std::string("[[maybe_unused]] ") +
                    (parameter.grid_constant ? "const __grid_constant__ " : "") + declared +
                    ",\n    ";
      const bool known = request_.arguments.contains(parameter.name);
      const bool is_output = parameter.name == request_.out;
      if (is_output) output = name;
      arguments += ",\n        " + (known && !is_output ? argument(parameter, "") : name) +
                   (is_output ? " + moved" : "");
    }
    return "namespace user {\n\n" +
           kernel_with(parameters + "const __grid_constant__ " + kViewType +
                           " view_) {\n  using View = " + kViewType +
                           ";\n  constexpr tilepost_shape_t shape = {" + request_.shape + "};\n",
                       {request_.reading.asked, arguments, request_.clears_output ? output : ""}) +
           "\ninline const void* " + kWovenFunction +
           "() {\n  return reinterpret_cast<const void*>(&" + request_.kernel +
           ");\n}\n\ninline int " + kWovenLauncher +
           "(const tilepost_launch_call_t* call, void* user) {\n  return static_cast<int>(" +
           request_.launcher + "(call, user));\n}\n\n}  // namespace user\n";
  }

  // A call of the author's function, with arguments that follow its place. `output` is what is
  // cleared before the call, or "".
  struct Call {
    std::string function, arguments, output;
  };

  // `parameters` goes up to the body's first lines, and ends with a line end.
  std::string kernel_with(const std::string& parameters, const Call& call) const {
    const std::string begin =
        "__global__ void " + bounds() + request_.kernel + "(\n    " + parameters;
    if (!request_.loop)
      return "// One tile: the block of the plain kernel that makes it, its output moved by whole "
             "rows to\n// where the tile goes.\n" +
             begin + tile_at("static_cast<int>(blockIdx.x)", call) + "}\n";
    std::string text;
    llvm::raw_string_ostream out(text);
    out << "// Tiles in turn: of each the block of the plain kernel that makes it, its output "
           "moved by\n"
           "// whole rows to where the tile goes.\n"
        << begin << R"(  for (int position = static_cast<int>(blockIdx.x);
       position < tilepost::woven::num_tiles(view_, tilepost::TileGrid{});
       position += static_cast<int>(gridDim.x)) {
)";
    llvm::SmallVector<StringRef> lines;
    const std::string tile = tile_at("position", call);
    StringRef(tile).split(lines, '\n', -1, /*KeepEmpty=*/false);
    for (const StringRef line : lines) out << "  " << line << "\n";
    out << "    __syncthreads();  // shared memory is the next tile's from here on\n  }\n}\n";
    return text;
  }

  std::string tile_at(const std::string& position, const Call& call) const {
    std::string text;
    llvm::raw_string_ostream out(text);
    out << "  const tilepost::Tile tile =\n      tilepost::woven::tile(view_, "
           "tilepost::TileGrid{}, "
        << position << ");\n"
        << counting() << R"(  if (!tile.is_padding()) {
    [[maybe_unused]] const int rows = (shape.m + View::kTileM - 1) / View::kTileM;
    [[maybe_unused]] const int columns = (shape.n + View::kTileN - 1) / View::kTileN;
    const int row = tile.m / View::kTileM, column = tile.n / View::kTileN;
    const long long moved = static_cast<long long>(tile.row - tile.m) * shape.ldc;
    const uint3 block{)"
        << extents(request_.block) << R"(};
    const dim3 grid{)"
        << extents(request_.grid) << "};\n"
        << clearing(call.output) << author_names("    ") << "    " << call.function
        << "(block, grid" << call.arguments << ");\n  }\n  tilepost::woven::tile_done(view_, tile, "
        << (request_.count_at < 0 ? "tilepost::BlockStores{}"
                                  : "tilepost::woven::ThreadStores{left}")
        << ");\n";
    return text;
  }

  // A kernel with user data needs a function of its own to launch it, which gets the run's
  // addresses.
  std::string woven_launch() const {
    if (request_.num_user == 0 || request_.cpu) return "";
    return std::string("\nnamespace user {\n\ninline const void* ") + kWovenFunction +
           "() {\n  return reinterpret_cast<const void*>(&" + request_.kernel +
           ");\n}\n\ninline int " + kWovenLauncher +
           R"((const tilepost_launch_call_t* call, void* user) {
  tilepost_launch_call_t given = *call;
  void* a = const_cast<void*>(call->a);
  void* b = const_cast<void*>(call->b);
  auto data_ = )" +
           user_of(request_.num_user, "static_cast<void* const*>(user)") +
           R"(;
  void* arguments[] = {&a, &b, &given.out, &given.shape, &given.epilogue, &data_, &given.view};
  return cudaLaunchKernelExC(call->config, call->function, arguments);
}

}  // namespace user
)";
  }

  // A using-directive for template arguments that may name the author's types.
  std::string author_names(const char* indent) const {
    const StringRef arguments = StringRef(request_.reading.asked).split('<').second;
    const bool names = llvm::any_of(arguments, [](char c) { return llvm::isAlpha(c); });
    return names ? std::string(indent) + "using namespace user;\n" : "";
  }

  // The lines in front of a block whose threads end one by one.
  std::string counting() const {
    if (request_.count_at < 0) return "";
    const std::string place =
        request_.cpu ? "  __shared__ unsigned left_;\n  unsigned* const left = &left_;\n"
                     : "  extern __shared__ unsigned shared_words[];\n"
                       "  unsigned* const left = shared_words + " +
                           std::to_string(request_.count_at / 4) + ";\n";
    return "  // Threads that leave are not waited for where others wait: they are counted.\n" +
           place + "  tilepost::woven::count_threads(left);\n";
  }

  const Parameter& output() const {
    return *std::ranges::find(instance_.parameters, request_.out, &Parameter::name);
  }

  // The lines in front of a block that reads its output.
  static std::string clearing(const std::string& output) {
    if (output.empty()) return "";
    return "    // What it reads of its output is its own, and zero before that.\n"
           "    tilepost::woven::clear_tile(" +
           output + ", tile, shape, View::kTileM, View::kTileN);\n    __syncthreads();\n";
  }

  // nvcc allocates `extern __shared__` arrays. For the CPU shim this text defines them.
  std::string shared_memory() const {
    return request_.cpu ? define_dynamic_shared(parsed_, instance_.function, request_.shared_bytes)
                        : "";
  }

  // ---- The author's launch

  std::string arguments() const {
    std::string text;
    for (const Parameter& parameter : instance_.parameters)
      text += (text.empty() ? "" : ",\n        ") + argument(parameter, "");
    return text;
  }

  // Calls the author's launcher with what the runtime would give it.
  std::string launch_by_launcher() const {
    return R"(  const void* const function = reinterpret_cast<const void*>(kernel);
  const cudaError_t error = cudaFuncSetAttribute(
      function, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);
  if (error != cudaSuccess) return error;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = threads;
  config.dynamicSmemBytes = kSharedBytes;
  config.stream = static_cast<cudaStream_t>(stream);
  const tilepost_launch_call_t call = {
      sizeof call, function, &config, a, b, c, shape.m, shape, {}, {}};
  return static_cast<int>(user::)" +
           request_.launcher + "(&call, nullptr));\n}\n";
  }

  std::string launch() const {
    std::string text;
    llvm::raw_string_ostream out(text);
    out << "int launch(const void* read_a, const void* read_b, void* c, const tilepost_shape_t& "
           "shape,\n           [[maybe_unused]] void* const* user, [[maybe_unused]] void* stream) "
           "{\n"
           "  // Its author may have left out that it only reads them.\n"
           "  [[maybe_unused]] void* const a = const_cast<void*>(read_a);\n"
           "  [[maybe_unused]] void* const b = const_cast<void*>(read_b);\n"
           "  const dim3 grid{"
        << extents(request_.grid) << "}, threads{" << request_.threads[0] << "u, "
        << request_.threads[1] << "u, " << request_.threads[2]
        << "u};\n  constexpr int kSharedBytes = " << request_.shared_bytes << ";\n"
        << author_names("  ") << "  const auto kernel = &user::" << request_.reading.asked << ";\n";
    if (request_.num_user > 0)
      out << "  const auto data_ = " << user_of(request_.num_user, "user") << ";\n";
    if (request_.clears_output) {
      const std::string bytes =
          "static_cast<size_t>(shape.m) * shape.ldc * sizeof(*" + argument(output(), "") + ")";
      out << (request_.cpu ? "  std::memset(c, 0, " + bytes + ");\n"
                           : "  if (const cudaError_t cleared = cudaMemsetAsync(\n"
                             "          c, 0, " +
                                 bytes +
                                 ",\n          static_cast<cudaStream_t>(stream));\n"
                                 "      cleared != cudaSuccess)\n    return cleared;\n");
    }
    if (!request_.launcher.empty()) {
      out << launch_by_launcher();
    } else if (request_.cpu) {
      out << "  tilepost::cpu::launch(grid, threads, kSharedBytes, [&] {\n    kernel("
          << arguments() << ");\n  });\n  return 0;\n}\n";
    } else {
      out << "  const cudaError_t error = cudaFuncSetAttribute(\n"
             "      reinterpret_cast<const void*>(kernel),\n"
             "      cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);\n"
             "  if (error != cudaSuccess) return error;\n"
             "  kernel<<<grid, threads, kSharedBytes, static_cast<cudaStream_t>(stream)>>>(\n"
             "        "
          << arguments() << ");\n  return cudaGetLastError();\n}\n";
    }
    return text;
  }

  const Parsed& parsed_;
  const UnmarkedRequest& request_;
  const Instance& instance_;
};

// Reads the kernel and hands it to `use`; nothing if something was refused.
std::optional<WovenKernel> read_and(const UnmarkedRequest& request, Diagnostics& diagnostics,
                                    llvm::function_ref<WovenKernel(Weaver)> use) {
  std::optional<WovenKernel> woven;
  const bool read = read_function(request.source, request.reading, diagnostics,
                                  [&](const Parsed& parsed, const Instance& instance) {
                                    woven = use(Weaver(parsed, request, instance));
                                  });
  if (!read) woven.reset();
  return woven;
}

}  // namespace

std::optional<WovenKernel> weave_unmarked(const UnmarkedRequest& request,
                                          Diagnostics& diagnostics) {
  return read_and(request, diagnostics, [](Weaver weaver) { return weaver.weave(); });
}

std::optional<WovenKernel> cut_plain_kernel(const UnmarkedRequest& request,
                                            Diagnostics& diagnostics) {
  return read_and(request, diagnostics, [](Weaver weaver) { return weaver.plain(); });
}

}  // namespace tilepost
