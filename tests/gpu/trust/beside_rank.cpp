#include "tests/gpu/trust/beside_rank.h"

#include <nccl.h>
#include <unistd.h>

#include <memory>
#include <random>

#include "tests/gpu/checker.h"
#include "tests/gpu/trust/report.h"

namespace gpu_test {
namespace {

constexpr int kRoundsPerWord = 20;  // rounds between two answers
constexpr double kDrain = 30;       // seconds for the work left on a stream after an error

struct Options {
  int rank;
  std::vector<const tilepost_program_t*> programs;
  int rounds;
  double deadline;
  int delay_us;
  int64_t megabytes;
  int check_every;
  uint32_t seed;
};

// Waits until the stream is idle. It polls, because a stream of another communicator has no
// deadline.
bool drain(cudaStream_t stream, double seconds) {
  const auto until = in_seconds(seconds);
  while (cudaStreamQuery(stream) == cudaErrorNotReady) {
    if (Clock::now() > until) return false;
    usleep(100);
  }
  return true;
}

// An operation with a stream, operands and a reference of its own.
class Member {
 public:
  Member(const tilepost::Comm& comm, const tilepost_program_t& program, int rank, double deadline)
      : name_(program.name) {
    tilepost_options_t options = tilepost_default_options();
    options.deadline_seconds = deadline;
    TILEPOST_OK_(tilepost::Op::create(comm, &program, op_, options));
    checker_ = std::make_unique<Checker>(program, op_, rank, 1);
    for (uint32_t seed = 1; seed <= 3; ++seed) checker_->run_and_check(op_, seed);
  }
  ~Member() {
    op_ = tilepost::Op();
    checker_.reset();
  }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  void fill(uint32_t seed) {
    checker_->fill_set(0, seed);
    seed_ = seed;
  }
  tilepost::Status run() { return checker_->run_set(op_, 0); }
  tilepost::Status synchronize() { return op_.synchronize(); }
  void check() { checker_->check_set(0, seed_); }
  unsigned long long mismatches() { return checker_->mismatches(); }
  void wait() { CUDA_OK(cudaStreamSynchronize(checker_->stream())); }
  const char* name() const { return name_; }

 private:
  const char* name_;
  tilepost::Op op_;
  std::unique_ptr<Checker> checker_;
  uint32_t seed_ = 0;
};

// An AllReduce, out of place, of a communicator that is not tilepost's. Every rank knows the sum.
class Foreign {
 public:
  Foreign(const tilepost_unique_id_t& id, int rank, int world, int64_t megabytes)
      : rank_(rank), world_(world), count_(megabytes * (int64_t{1} << 20) / 4) {
    ncclUniqueId nccl_id;
    std::memcpy(&nccl_id, id.bytes, sizeof nccl_id);
    EXPECT(ncclCommInitRank(&nccl_, world, nccl_id, rank) == ncclSuccess, "");
    in_ = device_.allocate<float>(count_ * 4);
    out_ = device_.allocate<float>(count_ * 4);
    CUDA_OK(cudaMallocHost(&host_, static_cast<size_t>(count_) * 4));
    for (int64_t i = 0; i < count_; ++i) host_[i] = element(i, rank_);
    CUDA_OK(cudaMemcpy(in_, host_, static_cast<size_t>(count_) * 4, cudaMemcpyHostToDevice));
    start();
    EXPECT(drain(device_.stream(), kDrain) && wrong() == 0, "the AllReduce by itself");
  }
  ~Foreign() {
    ncclCommDestroy(nccl_);
    cudaFreeHost(host_);
  }
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;

  void clear() { CUDA_OK(cudaMemsetAsync(out_, 0xff, static_cast<size_t>(count_) * 4, stream())); }
  void start() {
    EXPECT(ncclAllReduce(in_, out_, static_cast<size_t>(count_), ncclFloat, ncclSum, nccl_,
                         stream()) == ncclSuccess,
           "ncclAllReduce");
  }
  cudaStream_t stream() const { return device_.stream(); }

  // How many elements are not the sum. The stream must be idle.
  int64_t wrong() {
    CUDA_OK(cudaMemcpyAsync(host_, out_, static_cast<size_t>(count_) * 4, cudaMemcpyDeviceToHost,
                            stream()));
    CUDA_OK(cudaStreamSynchronize(stream()));
    int64_t count = 0;
    for (int64_t i = 0; i < count_; ++i) count += host_[i] != sum(i);
    return count;
  }

 private:
  static float element(int64_t i, int rank) { return static_cast<float>(i % 1021 + 3 * rank); }
  float sum(int64_t i) const {
    return static_cast<float>(world_ * (i % 1021) + 3 * world_ * (world_ - 1) / 2);
  }

  const int rank_, world_;
  const int64_t count_;
  Device device_;
  ncclComm_t nccl_ = nullptr;
  float* in_;
  float* out_;
  float* host_;
};

class BesideRank {
 public:
  BesideRank(const Options& options, Orders& orders)
      : options_(options),
        orders_(orders),
        world_(plan_of(*options.programs[0]).ranks),
        random_(options.seed * 64 + static_cast<uint32_t>(options.rank)) {}

  // On all ranks in this order: the first run on its stream, a random pause, the second run on its
  // own.
  std::string pair(const tilepost_unique_id_t& id) {
    tilepost::Comm comm;
    TILEPOST_OK_(tilepost::Comm::init(id, options_.rank, world_, comm));
    std::vector<std::unique_ptr<Member>> members;
    for (const tilepost_program_t* program : options_.programs)
      members.push_back(std::make_unique<Member>(comm, *program, options_.rank, options_.deadline));
    orders_.answer("round 0");
    for (int round = 0; round < options_.rounds; ++round) {
      for (auto& member : members) member->fill(seed_of(round));
      for (auto& member : members) member->wait();
      Failure failure{round};
      for (auto& member : members) {
        if (member != members.front()) usleep(random_() % (options_.delay_us + 1));
        failure.note(*member, member->run());
      }
      for (auto& member : members) failure.note(*member, member->synchronize());
      if (!failure.text.empty()) return failure.text;
      if (const std::string wrong = check(round, members); !wrong.empty()) return wrong;
      tell(round);
    }
    return "fine";
  }

  // An AllReduce of another communicator, before tilepost's run on odd ranks and behind it on even
  // ones.
  std::string foreign(const tilepost_unique_id_t& id, const tilepost_unique_id_t& other_id) {
    tilepost::Comm comm;
    TILEPOST_OK_(tilepost::Comm::init(id, options_.rank, world_, comm));
    Foreign other(other_id, options_.rank, world_, options_.megabytes);
    std::vector<std::unique_ptr<Member>> members;
    members.push_back(
        std::make_unique<Member>(comm, *options_.programs[0], options_.rank, options_.deadline));
    Member& member = *members[0];
    orders_.answer("round 0");
    for (int round = 0; round < options_.rounds; ++round) {
      other.clear();
      member.fill(seed_of(round));
      member.wait();
      CUDA_OK(cudaStreamSynchronize(other.stream()));
      if (options_.delay_us > 0) usleep(random_() % options_.delay_us);
      Failure failure{round};
      if (options_.rank % 2 != 0) other.start();
      failure.note(member, member.run());
      if (options_.rank % 2 == 0) other.start();
      failure.note(member, member.synchronize());
      if (!drain(other.stream(), kDrain)) {
        failure.text += " the other AllReduce has not ended";
        orders_.answer("error " + std::to_string(round) + " " + failure.text);
        _exit(1);  // nothing could be destroyed in time
      }
      if (!failure.text.empty()) return failure.text;
      if (const std::string wrong = check(round, members); !wrong.empty()) return wrong;
      if (is_checked(round) && other.wrong() != 0)
        return "wrong: the other AllReduce, round " + std::to_string(round);
      tell(round);
    }
    return "fine";
  }

 private:
  // The first error of a round.
  struct Failure {
    int round;
    std::string text = {};

    void note(const Member& member, const tilepost::Status& status) {
      if (status || (!text.empty() && status.result() == TILEPOST_ABORTED)) return;
      const bool better = text.empty() || text.find(" TILEPOST_ABORTED") != std::string::npos;
      if (better)
        text = "error " + std::to_string(round) + " " + member.name() + " " + described(status);
    }
  };

  bool is_checked(int round) const {
    return round % options_.check_every == 0 || round + 1 == options_.rounds;
  }
  // A reference is computed once for many rounds.
  uint32_t seed_of(int round) const {
    return options_.seed * 1000 + static_cast<uint32_t>(round / 64);
  }

  std::string check(int round, std::vector<std::unique_ptr<Member>>& members) {
    if (!is_checked(round)) return "";
    for (auto& member : members) member->check();
    for (auto& member : members)
      if (const auto count = member->mismatches(); count != 0)
        return "wrong: " + std::to_string(count) + " elements of " + member->name() + ", round " +
               std::to_string(round);
    return "";
  }

  void tell(int round) {
    if (round % kRoundsPerWord == 0) orders_.answer("round " + std::to_string(round));
  }

  const Options& options_;
  Orders& orders_;
  const int world_;
  std::mt19937 random_;
};

}  // namespace

int run_beside_rank(int argc, char** argv) {
  EXPECT(argc == 9, "the words of a rank");
  Orders orders;
  Options options{};
  options.rank = std::atoi(argv[0]);
  CUDA_OK(cudaSetDevice(std::atoi(argv[1])));
  std::istringstream names(argv[2]);
  for (std::string name; std::getline(names, name, ',');) {
    options.programs.push_back(find_program(name));
    EXPECT(options.programs.back() != nullptr, name);
  }
  options.rounds = std::atoi(argv[3]);
  options.deadline = std::atof(argv[4]);
  options.delay_us = std::atoi(argv[5]);
  options.megabytes = std::atoi(argv[6]);
  options.check_every = std::atoi(argv[7]);
  options.seed = static_cast<uint32_t>(std::atoi(argv[8]));
  preload();
  BesideRank rank(options, orders);
  for (;;) {
    const std::vector<std::string> words = orders.next();
    if (words.at(0) == "id") {
      tilepost_unique_id_t id{};
      TILEPOST_OK_(tilepost::Status(tilepost_get_unique_id(&id)));
      orders.answer("id " + to_hex(id));
    } else if (words[0] == "pair") {
      orders.answer(rank.pair(from_hex(words.at(1))));
    } else if (words[0] == "foreign") {
      orders.answer(rank.foreign(from_hex(words.at(1)), from_hex(words.at(2))));
    } else {
      EXPECT(words[0] == "quit", words[0]);
      return 0;
    }
  }
}

}  // namespace gpu_test
