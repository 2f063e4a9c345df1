#include "generator/clang/invocation.h"

#include <algorithm>

#include "clang/Basic/Cuda.h"
#include "clang/Frontend/Utils.h"
#include "clang/Lex/HeaderSearchOptions.h"
#include "generator/clang/prelude.h"
#include "generator/clang/toolkit.h"
#include "generator/resources.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

namespace tilepost {
namespace {

using llvm::StringRef;

constexpr char kPreludePath[] = "/prelude/tilepost_prelude.h";

// Options for both CUDA and C++. The limit of errors is higher than the number of errors that
// Diagnostics shows.
constexpr char kCommonFlags[] =
    " -fsyntax-only -std=c++20 -fgnuc-version=4.2.1 -nostdsysteminc -w -fno-caret-diagnostics"
    " -ferror-limit 50 -internal-isystem /stub/ -internal-isystem /include/ ";
// The triples are fixed, because the tree must not depend on the machine the generator runs on.
constexpr char kCudaFlags[] =
    "-x cuda -triple nvptx64-nvidia-cuda -aux-triple x86_64-unknown-linux-gnu"
    " -fcuda-is-device -include /prelude/tilepost_prelude.h -target-cpu ";
constexpr char kHostFlags[] = "-x c++ -triple x86_64-unknown-linux-gnu";

// Options of full mode, with folders that the machine does not have. The driver adds the folders of
// the system's C++ library. Because -nocudalib leaves out the toolkit's libraries, the driver does
// not find the toolkit's version and takes the newest that Clang 19 knows.
constexpr char kFull[] =
    "clang++ --no-default-config -x cuda --cuda-device-only -nocudalib -fsyntax-only -w"
    " -fno-caret-diagnostics -ferror-limit=1000 -Wno-unknown-cuda-version"
    " -Xclang -target-sdk-version=12.5 -Xclang -target-feature -Xclang +ptx85"
    " -isystem /.tilepost/nvcc -isystem /.tilepost/include"
    " -include /.tilepost/nvcc/tilepost_unasked.h";
// Clang's own headers come from the tool. The folders where the driver looks for them depend on the
// machine that Clang was built for. In Debian they also depend on what is installed.
constexpr char kClangFolder[] = "/.tilepost/clang";
// The newest architecture that Clang can read a source for.
constexpr char kNewestArch[] = "sm_90a";

std::string source_path(const Reading& reading) {
  if (!reading.full) return reading.cuda ? "/kernel.cu" : "/kernel.cpp";
  if (reading.full->path.empty()) return "/.tilepost/kernel.cu";
  // The path must be absolute, because files in memory have no working folder. The file is read
  // from memory, not from disk, because the variable that asks for the function is added behind its
  // text.
  llvm::SmallString<256> path(reading.full->path);
  llvm::sys::fs::make_absolute(path);
  return path.str().str();
}

void add_words(std::vector<std::string>& list, StringRef line) {
  llvm::SmallVector<StringRef> words;
  llvm::SplitString(line, words);
  for (const StringRef word : words) list.push_back(word.str());
}

// A source for an architecture that Clang does not know is read as for the newest that Clang knows.
// But __CUDA_ARCH__ then has the number of the source's architecture.
void add_arch(std::vector<std::string>& list, StringRef arch) {
  if (clang::StringToOffloadArch(arch) != clang::OffloadArch::UNKNOWN) {
    list.push_back("--cuda-gpu-arch=" + arch.str());
    return;
  }
  list.push_back(std::string("--cuda-gpu-arch=") + kNewestArch);
  StringRef digits = arch;
  digits.consume_front("sm_");
  const StringRef number = digits.take_while(llvm::isDigit);
  list.emplace_back("-U__CUDA_ARCH__");
  list.push_back("-D__CUDA_ARCH__=" + number.str() + "0");
  if (number != digits) list.push_back("-D__CUDA_ARCH_FEAT_SM" + number.str() + "_ALL");
}

std::vector<std::string> full_arguments(const FullMode& full, StringRef arch) {
  std::vector<std::string> list;
  add_words(list, kFull);
  add_arch(list, arch);
  list.push_back(std::string("-resource-dir=") + kClangFolder);
  list.push_back("--cuda-path=" + full.toolkit);
  list.push_back("-std=" + full.standard);
  if (const ToolkitVersion version = version_of_toolkit(full.toolkit); version.major > 0) {
    list.push_back("-D__CUDACC_VER_MAJOR__=" + std::to_string(version.major));
    list.push_back("-D__CUDACC_VER_MINOR__=" + std::to_string(version.minor));
  }
  for (const std::string& define : full.defines) list.push_back("-D" + define);
  for (const std::string& folder : full.include_dirs) list.insert(list.end(), {"-isystem", folder});
  list.insert(list.end(), {"-isystem", full.toolkit + "/include/cccl"});
  return list;
}

// Adds the folder of Clang's own headers. The driver names this folder only if it is on the disk,
// and Debian's driver names the installed one instead. The folder must stand in front of the C
// library's, which is the first folder of the group ExternCSystem.
void use_own_headers(clang::HeaderSearchOptions& options, llvm::vfs::FileSystem& files) {
  const std::string own = std::string(kClangFolder) + "/include";
  auto& entries = options.UserEntries;
  using Entry = clang::HeaderSearchOptions::Entry;
  std::erase_if(entries, [&](const Entry& entry) {
    return files.exists(entry.Path + "/__clang_cuda_runtime_wrapper.h");
  });
  const auto at = std::ranges::find(entries, clang::frontend::ExternCSystem, &Entry::Group);
  entries.insert(at, Entry(own, clang::frontend::System, false, true));
}

std::vector<std::string> arguments(const Reading& reading) {
  std::vector<std::string> list;
  if (reading.full) {
    list = full_arguments(*reading.full, reading.arch);
  } else {
    add_words(list, (reading.cuda ? kCudaFlags + reading.arch : kHostFlags) + kCommonFlags);
  }
  list.push_back(source_path(reading));
  return list;
}

}  // namespace

namespace {

// In Clang's headers threadIdx and the like have class types whose objects cannot be copied. In
// nvcc's they are vectors, which `auto t = threadIdx;` copies.
std::string with_plain_variables(StringRef header) {
  std::string text = header.str();
  constexpr std::pair<StringRef, StringRef> kTypes[] = {
      {"__cuda_builtin_threadIdx_t threadIdx;", "uint3 threadIdx;"},
      {"__cuda_builtin_blockIdx_t blockIdx;", "uint3 blockIdx;"},
      {"__cuda_builtin_blockDim_t blockDim;", "dim3 blockDim;"},
      {"__cuda_builtin_gridDim_t gridDim;", "dim3 gridDim;"}};
  for (const auto& [of_class, of_vector] : kTypes)
    if (const size_t at = text.find(of_class); at != std::string::npos)
      text.replace(at, of_class.size(), of_vector);
  return text;
}

}  // namespace

Files make_files(StringRef source, const Reading& reading) {
  auto files = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  const auto add = [&](const llvm::Twine& path, StringRef text) {
    files->addFile(path, 0, llvm::MemoryBuffer::getMemBuffer(text));
  };
  add(source_path(reading), source);
  const std::string added = reading.full ? kAddedFolder : "/";
  for (const Resource& resource : resources()) {
    StringRef path = resource.path;
    if (path.starts_with("include/")) add(added + path, resource.text);
    if (!reading.full || !path.consume_front("clang/")) continue;
    const std::string place = added + "clang/include/" + path.str();
    if (path == "__clang_cuda_builtin_vars.h")
      files->addFile(place, 0,
                     llvm::MemoryBuffer::getMemBufferCopy(with_plain_variables(resource.text)));
    else
      add(place, resource.text);
  }
  if (reading.full) {
    for (const VirtualFile& header : added_headers()) {
      add(added + "nvcc/" + header.name, header.text);
    }
    for (AdaptedHeader& header : adapted_headers(reading.full->toolkit))
      files->addFile(header.path, 0, llvm::MemoryBuffer::getMemBufferCopy(header.text));
    auto all = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(
        llvm::vfs::createPhysicalFileSystem());
    all->pushOverlay(files);
    return all;
  }
  if (reading.cuda) add(kPreludePath, cuda_prelude());
  for (const VirtualFile& header : stub_headers()) {
    if (is_known(header, reading.cuda)) add(kStubFolder + header.name, header.text);
  }
  return files;
}

std::shared_ptr<clang::CompilerInvocation> make_invocation(
    const Reading& reading, const Files& files,
    const llvm::IntrusiveRefCntPtr<clang::DiagnosticsEngine>& diagnostics) {
  const std::vector<std::string> list = arguments(reading);
  std::vector<const char*> words;
  for (const std::string& word : list) words.push_back(word.c_str());
  if (reading.full) {
    clang::CreateInvocationOptions options;
    options.Diags = diagnostics;
    options.VFS = files;
    std::shared_ptr<clang::CompilerInvocation> invocation =
        clang::createInvocation(words, std::move(options));
    if (invocation) use_own_headers(invocation->getHeaderSearchOpts(), *files);
    return invocation;
  }
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  clang::CompilerInvocation::CreateFromArgs(*invocation, words, *diagnostics);
  return invocation;
}

StringRef known_name(StringRef path) {
  path.consume_front(kAddedFolder);
  path.consume_front(kOwnFolder);
  path.consume_front(kStubFolder);
  return path;
}

}  // namespace tilepost
