#include "linear.h"

#include <stdexcept>
#include <string>

#include "attn_out.h"

namespace attn_out = tilepost_gen_attn_out;

namespace {

void check(tilepost_result_t result) {
  if (result != TILEPOST_OK)
    throw std::runtime_error(std::string(tilepost_result_name(result)) + ": " +
                             tilepost_last_error());
}

class AttnOut final : public RowParallelLinear {
 public:
  explicit AttnOut(tilepost_comm_t comm) : comm_(comm) {}
  ~AttnOut() override {
    tilepost_op_destroy(op_);
    tilepost_comm_destroy(comm_);
  }
  AttnOut(const AttnOut&) = delete;
  AttnOut& operator=(const AttnOut&) = delete;

  void forward(const uint16_t* input, const uint16_t* weight, uint16_t* out) override {
    // Creation waits for all ranks, so it happens on the ranks' threads, at the first call.
    if (op_ == nullptr) check(tilepost_op_create(comm_, attn_out_program(), nullptr, &op_));
    check(tilepost_op_run(op_, input, weight, out, nullptr));
    check(tilepost_op_synchronize(op_));
  }

  int64_t rows() const override { return attn_out::kM; }
  int64_t columns() const override { return attn_out::kN; }
  int64_t depth() const override { return attn_out::kK; }

 private:
  tilepost_comm_t comm_;
  tilepost_op_t op_ = nullptr;
};

}  // namespace

std::vector<std::unique_ptr<RowParallelLinear>> RowParallelLinear::create_all(int ranks) {
  if (ranks != attn_out::kRanks)
    throw std::runtime_error("attn_out is generated for " + std::to_string(attn_out::kRanks) +
                             " ranks, got " + std::to_string(ranks));
  std::vector<tilepost_comm_t> comms(ranks);
  check(tilepost_comm_create_host(ranks, comms.data()));
  std::vector<std::unique_ptr<RowParallelLinear>> layers;
  for (tilepost_comm_t comm : comms) layers.push_back(std::make_unique<AttnOut>(comm));
  return layers;
}
