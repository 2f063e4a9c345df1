// What of the logged calls comes before what, whichever streams they are on: streams keep their
// order, and events carry it from one to another.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace order {

// The order of the calls that were logged since world().reset_calls().
class Order {
 public:
  Order();

  // How many calls begin with `call`, "sum" say.
  int count(const std::string& call) const { return static_cast<int>(all(call).size()); }
  // Whether the nth such call has ended before the other one begins.
  bool before(const std::string& call, int n, const std::string& other, int m) const;
  // Whether all such calls have ended before any of the others begins.
  bool all_before(const std::string& call, const std::string& other) const;
  // Whether what comes next on the user's stream follows all such calls.
  bool joined(const std::string& call) const;
  // Whether all that was logged from line `from` on comes behind what the user's stream has
  // followed, or none of it does. GEMMs apart, which streams follow by their counters.
  bool all_behind_user(size_t from) const;
  bool none_behind_user(size_t from) const;

 private:
  struct Call {
    std::string line;
    size_t logged;
    std::set<size_t> past;
  };
  std::vector<size_t> all(const std::string& call) const;

  std::vector<Call> calls_;
  std::set<size_t> user_past_;
};

}  // namespace order
