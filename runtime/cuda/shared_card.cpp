#include "runtime/cuda/shared_card.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>

#include "runtime/cuda/check.h"

namespace tilepost::cuda {
namespace {

// Process ids repeat between containers of one host, so there is a random number besides.
int64_t random_of_process() {
  static const auto number = [] {
    std::random_device random;
    return static_cast<int64_t>((uint64_t{random()} << 32) | random());
  }();
  return number;
}

// Linux makes this number when it boots; containers see their host's. Where there is none, the
// host's name has to do.
std::string text_of_host() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  if (std::getline(file, text) && !text.empty()) return text;
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

int64_t hash(const std::string& text) {
  return static_cast<int64_t>(std::hash<std::string>{}(text));
}

}  // namespace

tilepost_result_t make_card(int device, Card& card) {
  card = {};
  card.process[0] = random_of_process();
  card.process[1] = getpid();
  const std::string host = text_of_host();
  card.host[0] = hash(host);
  card.host[1] = hash("once more " + host);
  card.ordinal = device;
  TILEPOST_CUDA(cudaDeviceGetPCIBusId(card.bus, sizeof card.bus, device));
  return TILEPOST_OK;
}

std::vector<int64_t> numbers_of(const Card& card) {
  std::vector<int64_t> numbers(kCardNumbers);
  std::memcpy(numbers.data(), &card, sizeof card);
  return numbers;
}

std::vector<Card> cards_of(std::span<const int64_t> numbers) {
  std::vector<Card> cards(numbers.size() / kCardNumbers);
  std::memcpy(cards.data(), numbers.data(), cards.size() * sizeof(Card));
  return cards;
}

bool same_process(const Card& one, const Card& other) {
  return std::ranges::equal(one.process, other.process) && same_host(one, other);
}

bool same_host(const Card& one, const Card& other) {
  return std::ranges::equal(one.host, other.host);
}

std::string name_of(int rank, const Card& card) {
  const std::string bus(card.bus, strnlen(card.bus, sizeof card.bus));
  return "rank " + std::to_string(rank) + " (device " + std::to_string(card.ordinal) + ", " + bus +
         ")";
}

std::string reason_not_to_share(std::span<const Card> cards) {
  for (size_t r = 1; r < cards.size(); ++r)
    if (!same_host(cards[0], cards[r]))
      return name_of(0, cards[0]) + " and " + name_of(static_cast<int>(r), cards[r]) +
             " run on different hosts, and only ranks of one host can share memory";
  for (size_t r = 0; r < cards.size(); ++r)
    for (size_t other = 0; other < cards.size(); ++other)
      if (cards[r].has_handle == 0 && !same_process(cards[r], cards[other]))
        return name_of(static_cast<int>(r), cards[r]) + " and " +
               name_of(static_cast<int>(other), cards[other]) +
               " are different processes, and CUDA gave no handle to share memory between them";
  return {};
}

}  // namespace tilepost::cuda
