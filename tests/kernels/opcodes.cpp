// Counts the machine instructions that matter in a cubin's kernels, for checks without a GPU.
//
// Usage: opcodes FILE.cubin [TEXT]. Prints one line "NAME COUNT" each, summed over all kernels, or
// over those whose mangled names have TEXT in them:
//   HGMMA, HMMA      warpgroup and warp matrix instructions of 16-bit elements
//   QGMMA, QMMA      likewise of 8-bit floating point
//   MEMBAR.GPU, .SYS memory barriers of that scope
//   RED              reductions into global memory
//   NANOSLEEP        pauses, of a constant number of nanoseconds, of a thread that polls
//   MAIN.MEMBAR      memory barriers of those scopes between the first and last matrix instruction
//
// The CUDA Toolkit's cuobjdump is often not installed, so this reads the ELF file itself. An
// instruction is 16 bytes; its low twelve bits are the opcode, and of a memory barrier the bits 76
// and 77 are the scope. NVIDIA does not document this: probe.cu holds one of each, and the test
// "compile: opcodes" fails if a toolkit encodes them otherwise.
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

namespace {

constexpr uint64_t kHgmma = 0x9f0, kHmma = 0x23c, kQgmma = 0x9f3, kQmma = 0x27a, kMembar = 0x992,
                   kRed = 0x98e, kNanosleep = 0x95d;
constexpr uint64_t kScopeGpu = 2, kScopeSys = 3;

struct Counts {
  int hgmma = 0, hmma = 0, qgmma = 0, qmma = 0, membar_gpu = 0, membar_sys = 0, red = 0,
      nanosleep = 0, main_membar = 0;
};

// The value of type T at `offset`, or zero behind the end.
template <class T>
T read(const std::vector<char>& file, uint64_t offset) {
  T value{};
  if (offset + sizeof(T) <= file.size()) std::memcpy(&value, file.data() + offset, sizeof(T));
  return value;
}

// The count for a matrix instruction, or null for other instructions.
int* matrix_count(uint64_t opcode, Counts& counts) {
  switch (opcode) {
    case kHgmma:
      return &counts.hgmma;
    case kHmma:
      return &counts.hmma;
    case kQgmma:
      return &counts.qgmma;
    case kQmma:
      return &counts.qmma;
    default:
      return nullptr;
  }
}

void count_kernel(const std::vector<char>& file, uint64_t begin, uint64_t size, Counts& counts) {
  int since_matrix = 0;
  bool seen_matrix = false;
  for (uint64_t at = begin; at + 16 <= begin + size; at += 16) {
    const uint64_t low = read<uint64_t>(file, at), high = read<uint64_t>(file, at + 8);
    const uint64_t opcode = low & 0xfff, scope = high >> 12 & 3;
    if (int* const matrix = matrix_count(opcode, counts)) {
      ++*matrix;
      counts.main_membar += since_matrix;
      since_matrix = 0;
      seen_matrix = true;
    } else if (opcode == kMembar && scope >= kScopeGpu) {
      ++(scope == kScopeSys ? counts.membar_sys : counts.membar_gpu);
      if (seen_matrix) ++since_matrix;
    } else if (opcode == kRed) {
      ++counts.red;
    } else if (opcode == kNanosleep) {
      ++counts.nanosleep;
    }
  }
}

// Counts in every section whose name begins with ".text." and contains `text`. It walks the section
// headers of the ELF-64 file.
bool count_file(const std::vector<char>& file, const std::string& text, Counts& counts) {
  if (file.size() < 64 || std::memcmp(file.data(),
                                      "\x7f"
                                      "ELF",
                                      4) != 0)
    return false;
  const uint64_t headers = read<uint64_t>(file, 0x28);
  const uint64_t entry = read<uint16_t>(file, 0x3a), number = read<uint16_t>(file, 0x3c);
  const uint64_t names = read<uint64_t>(file, headers + entry * read<uint16_t>(file, 0x3e) + 0x18);
  for (uint64_t i = 0; i < number; ++i) {
    const uint64_t header = headers + i * entry;
    const uint64_t name = names + read<uint32_t>(file, header);
    if (name + 6 > file.size() || std::memcmp(file.data() + name, ".text.", 6) != 0) continue;
    const std::string kernel(&file[name], strnlen(&file[name], file.size() - name));
    if (kernel.find(text) == std::string::npos) continue;
    count_kernel(file, read<uint64_t>(file, header + 0x18), read<uint64_t>(file, header + 0x20),
                 counts);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::cerr << "usage: opcodes FILE.cubin [TEXT]\n";
    return 2;
  }
  std::ifstream in(argv[1], std::ios::binary);
  const std::vector<char> file{std::istreambuf_iterator<char>(in), {}};
  Counts counts;
  if (!count_file(file, argc == 3 ? argv[2] : "", counts)) {
    std::cerr << argv[1] << " is not an ELF file\n";
    return 1;
  }
  std::cout << "HGMMA " << counts.hgmma << "\nHMMA " << counts.hmma << "\nQGMMA " << counts.qgmma
            << "\nQMMA " << counts.qmma << "\nMEMBAR.GPU " << counts.membar_gpu << "\nMEMBAR.SYS "
            << counts.membar_sys << "\nRED " << counts.red << "\nNANOSLEEP " << counts.nanosleep
            << "\nMAIN.MEMBAR " << counts.main_membar << "\n";
}
