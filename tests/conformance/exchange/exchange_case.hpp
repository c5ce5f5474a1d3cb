// What a method gives to the conformance suite of exchange: a name, and the makers of a member. A new method is a short
// file (see two_sided.cpp) that ends with COUPLET_METHOD_CONFORMS(name, make_makers).
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exchange/exchange.hpp"
#include "support/parties.hpp"
#include "support/temporary_directory.hpp"

namespace couplet::conformance {

using exchange::Direction;
using exchange::Edge;
using exchange::Exchange;
using exchange::Region;
using test::LaneKind;
using test::Parties;
using test::Party;

using Makers = std::vector<std::unique_ptr<exchange::Maker>>;

struct ExchangeCase {
  std::string name;
  std::function<Makers(Party&)> make_makers;  // the one that is to be tested is the last one
  // Has the member memory to share?
  std::function<bool(int rank)> shares_memory = [](int) { return true; };
};

// What is left of a failed exchange is given back when the channels of a party end, after its thread has ended.
inline void bury(Party& party, std::unique_ptr<Exchange> exchange) {
  party.remains.emplace_back(std::move(exchange));
}

// One member of an exchange. `all` is the case; the directory is that of all members.
class Member {
 public:
  Member(const ExchangeCase& all, Party& party, const std::string& directory, const std::string& name = "test",
         double timeout_s = 30);
  ~Member();
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  // Adds an edge that sends, or receives, all of `data`.
  template <typename T>
  std::uint32_t send(int peer, std::int64_t tag, std::vector<T>& data, const Edge& terms = {}) {
    return add(Direction::out, peer, tag, data.data(), data.size() * sizeof(T), terms);
  }
  template <typename T>
  std::uint32_t receive(int peer, std::int64_t tag, std::vector<T>& data, const Edge& terms = {}) {
    return add(Direction::in, peer, tag, data.data(), data.size() * sizeof(T), terms);
  }
  Status round() {
    COUPLET_TRY(exchange->start());
    return exchange->wait(os::deadline_after(timeout_s_));
  }
  [[nodiscard]] int rank() const { return party.rank(); }

 private:
  std::uint32_t add(Direction direction, int peer, std::int64_t tag, void* data, std::uint64_t bytes,
                    const Edge& terms);
  Makers makers_;
  double timeout_s_;

 public:
  Party& party;
  std::unique_ptr<Exchange> exchange;
};

#define EXPECT_OK(expression)                        \
  do {                                               \
    const ::couplet::Status status__ = (expression); \
    EXPECT_TRUE(status__.ok()) << status__.text();   \
  } while (false)
// For threads of tests: a member that fails must not go on.
#define MUST(expression)                             \
  do {                                               \
    const ::couplet::Status status__ = (expression); \
    EXPECT_TRUE(status__.ok()) << status__.text();   \
    if (!status__.ok()) return;                      \
  } while (false)

class ExchangeMethod : public testing::TestWithParam<ExchangeCase> {
 protected:
  // Runs `body` for each of `size` members, in threads of their own.
  void run(int size, const std::function<void(Member&)>& body, LaneKind kind = LaneKind::shm) {
    Parties parties(kind, size);
    parties.run([&](Party& party) {
      Member member(GetParam(), party, directory_.path());
      body(member);
    });
  }
  test::TemporaryDirectory directory_;
};

[[nodiscard]] inline std::string name_of_method(const testing::TestParamInfo<ExchangeCase>& tested) {
  return tested.param.name;
}

#define COUPLET_METHOD_CONFORMS(method, make_makers) \
  INSTANTIATE_TEST_SUITE_P(method, ExchangeMethod, testing::Values(ExchangeCase{#method, make_makers}), name_of_method)

}  // namespace couplet::conformance
