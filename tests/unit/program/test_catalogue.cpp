// Catalogues: their manifests, kernels that are missing, and how long kernels stay loaded. The
// kernels here are texts, which a loader of the test's pretends to load.
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tilepost/program.h"
#include "tilepost/version.h"

using Catch::Contains;

namespace {

namespace fs = std::filesystem;

// What the stand-in for CUDA has loaded.
struct Loaded {
  std::map<void*, std::string> images;
  int loads = 0;
  bool fails = false;
};
Loaded& loaded() {
  static Loaded state;
  return state;
}

tilepost_result_t load(const void* image, size_t bytes, const char*, const void** function,
                       void** module) {
  Loaded& state = loaded();
  if (state.fails) return TILEPOST_CUDA_ERROR;
  ++state.loads;
  auto* const text = new std::string(static_cast<const char*>(image), bytes);
  state.images[text] = *text;
  *function = text;
  *module = text;
  return TILEPOST_OK;
}
void unload(void* module) {
  loaded().images.erase(module);
  delete static_cast<std::string*>(module);
}
constexpr tilepost_kernel_loader_t kLoader = {sizeof(tilepost_kernel_loader_t), load, unload};

// A folder until the end of the test.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("tilepost_catalogue_" + std::to_string(getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
    loaded() = {};
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path() const { return path_.string(); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
  }

 private:
  fs::path path_;
};

std::string manifest(const std::string& kernels, const std::string& version,
                     int abi = TILEPOST_ABI_VERSION) {
  return "{\"tilepost_catalogue\": 1, \"version\": \"" + version +
         "\", \"abi\": " + std::to_string(abi) + ", \"kernels\": [" + kernels + "]}\n";
}
std::string manifest(const std::string& kernels) {
  return manifest(kernels, TILEPOST_VERSION_STRING);
}
std::string entry(const std::string& key, const std::string& file) {
  return "\n{\"key\": \"" + key + "\", \"file\": \"" + file + "\"}";
}

const tilepost_program_t* make(const std::string& n, const std::string& arch) {
  const std::vector<std::string> fields = {"pattern=gemm_all_reduce",
                                           "ranks=4",
                                           "gemm.m=8192",
                                           "gemm.n=" + n,
                                           "gemm.k=2048",
                                           "gemm.a=bf16",
                                           "transport=nccl",
                                           "schedule.tile=[128, 256]",
                                           "arch=" + arch};
  std::vector<const char*> texts;
  for (const std::string& field : fields) texts.push_back(field.c_str());
  const tilepost_program_t* program = nullptr;
  const auto result = tilepost_program_make(texts.data(), texts.size(), nullptr, &program);
  INFO(tilepost_last_error());
  REQUIRE(result == TILEPOST_OK);
  return program;
}

std::string key_of(const tilepost_program_t* program) {
  const char* key = nullptr;
  REQUIRE(tilepost_program_variant(program, 0, &key) == TILEPOST_OK);
  return key;
}

tilepost_catalogue_t open(const Folder& folder, const tilepost_kernel_loader_t* loader = &kLoader) {
  tilepost_catalogue_t catalogue = nullptr;
  const auto result = tilepost_catalogue_open(folder.path().c_str(), loader, &catalogue);
  INFO(tilepost_last_error());
  REQUIRE(result == TILEPOST_OK);
  return catalogue;
}

// The text with which the folder is refused.
std::string refusal(const Folder& folder, tilepost_result_t expected) {
  tilepost_catalogue_t catalogue = nullptr;
  CHECK(tilepost_catalogue_open(folder.path().c_str(), &kLoader, &catalogue) == expected);
  CHECK(catalogue == nullptr);
  return tilepost_last_error();
}

}  // namespace

TEST_CASE("programs share a kernel that stays as long as one of them has it") {
  const Folder folder;
  const tilepost_program_t *first = make("8192", "sm_90a"), *second = make("4096", "sm_90a");
  REQUIRE(key_of(first) == key_of(second));
  folder.write("a.cubin", "the kernel");
  folder.write("catalogue.json",
               manifest(entry("another", "b.cubin") + "," + entry(key_of(first), "a.cubin")));
  const tilepost_catalogue_t catalogue = open(folder);
  REQUIRE(tilepost_program_load(first, catalogue) == TILEPOST_OK);
  REQUIRE(tilepost_program_load(second, catalogue) == TILEPOST_OK);
  CHECK(loaded().loads == 1);
  CHECK(first->plans[0].kernel.function == second->plans[0].kernel.function);
  CHECK(*static_cast<const std::string*>(first->plans[0].kernel.function) == "the kernel");
  CHECK(tilepost_catalogue_close(catalogue) == TILEPOST_OK);
  tilepost_program_destroy(first);
  CHECK(loaded().images.size() == 1);
  tilepost_program_destroy(second);
  CHECK(loaded().images.empty());
}

TEST_CASE("a kernel that is missing is named, and nothing is loaded") {
  const Folder folder;
  folder.write("catalogue.json", manifest(entry("another", "b.cubin")));
  const tilepost_program_t* program = make("8192", "sm_90a");
  const tilepost_catalogue_t catalogue = open(folder);
  CHECK(tilepost_program_load(program, catalogue) == TILEPOST_UNSUPPORTED);
  CHECK_THAT(tilepost_last_error(), Contains("of 1 kernels, has no '" + key_of(program) + "'"));
  CHECK(program->plans[0].kernel.function == nullptr);
  tilepost_catalogue_close(catalogue);
  tilepost_program_destroy(program);
}

TEST_CASE("kernels that cannot be loaded are errors") {
  const Folder folder;
  const tilepost_program_t *gpu = make("8192", "sm_90a"), *host = make("8192", "host");
  folder.write("catalogue.json",
               manifest(entry(key_of(gpu), "a.cubin") + "," + entry(key_of(host), "a.so")));
  const tilepost_catalogue_t blind = open(folder, nullptr), seeing = open(folder);
  CHECK(tilepost_program_load(gpu, blind) == TILEPOST_UNSUPPORTED);
  CHECK_THAT(tilepost_last_error(), Contains("open it with tilepost_cuda_kernel_loader()"));
  CHECK(tilepost_program_load(gpu, seeing) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("cannot read '" + folder.path() + "/a.cubin'"));
  folder.write("a.cubin", "the kernel");
  loaded().fails = true;
  CHECK(tilepost_program_load(gpu, seeing) == TILEPOST_CUDA_ERROR);
  loaded().fails = false;
  CHECK(tilepost_program_load(gpu, seeing) == TILEPOST_OK);
  CHECK(tilepost_program_load(host, seeing) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("a.so"));
  folder.write("a.so", "no library");
  CHECK(tilepost_program_load(host, seeing) == TILEPOST_INVALID_ARGUMENT);
  tilepost_catalogue_close(blind);
  tilepost_catalogue_close(seeing);
  tilepost_program_destroy(gpu);
  tilepost_program_destroy(host);
  CHECK(loaded().images.empty());
}

TEST_CASE("folders that are no catalogue of this version are refused") {
  const Folder folder;
  CHECK_THAT(refusal(folder, TILEPOST_INVALID_ARGUMENT), Contains("catalogue.json': No such file"));
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("{\"abi\": 1}"),
        manifest("\n3"), manifest(entry("key", "../a.cubin")), manifest(entry("key", "")),
        manifest("{\"key\": \"key\"}")}) {
    folder.write("catalogue.json", text);
    INFO(text);
    CHECK_THAT(refusal(folder, TILEPOST_INVALID_ARGUMENT), Contains("is no manifest"));
  }
  folder.write("catalogue.json", manifest("", "0.0.1"));
  CHECK_THAT(refusal(folder, TILEPOST_UNSUPPORTED), Contains("was written by tilepost 0.0.1"));
  folder.write("catalogue.json", manifest("", TILEPOST_VERSION_STRING, TILEPOST_ABI_VERSION + 1));
  CHECK_THAT(refusal(folder, TILEPOST_UNSUPPORTED), Contains("write it again"));
  folder.write("catalogue.json", manifest(""));
  tilepost_catalogue_close(open(folder));
}

TEST_CASE("a program without kernels makes no operation") {
  const tilepost_program_t* program = make("64", "host");
  std::vector<tilepost_comm_t> comms(4);
  REQUIRE(tilepost_comm_create_host(4, comms.data()) == TILEPOST_OK);
  tilepost_op_t op = nullptr;
  CHECK(tilepost_op_create(comms[0], program, nullptr, &op) != TILEPOST_OK);
  CHECK_THAT(tilepost_last_error(), Contains("host kernel"));
  for (const tilepost_comm_t comm : comms) tilepost_comm_destroy(comm);
  tilepost_program_destroy(program);
}

TEST_CASE("null and wrong arguments are refused") {
  const Folder folder;
  folder.write("catalogue.json", manifest(""));
  tilepost_catalogue_t catalogue = nullptr;
  CHECK(tilepost_catalogue_open(nullptr, nullptr, &catalogue) == TILEPOST_INVALID_ARGUMENT);
  CHECK(tilepost_catalogue_open("", nullptr, nullptr) == TILEPOST_INVALID_ARGUMENT);
  constexpr tilepost_kernel_loader_t small = {8, load, unload};
  CHECK(tilepost_catalogue_open(folder.path().c_str(), &small, &catalogue) ==
        TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("loader.struct_size is 8"));
  CHECK(tilepost_catalogue_close(nullptr) == TILEPOST_OK);
  const tilepost_program_t* program = make("64", "host");
  CHECK(tilepost_program_load(program, nullptr) == TILEPOST_INVALID_ARGUMENT);
  CHECK(tilepost_program_load(nullptr, nullptr) == TILEPOST_INVALID_ARGUMENT);
  tilepost_program_destroy(program);
}
