// A rank of a coalesced run within a test process: a StepManager over real lanes, and clients that are written as
// functions.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "coalesce/step_manager.hpp"
#include "exchange/mapped.hpp"
#include "exchange/two_sided.hpp"
#include "support/parties.hpp"
#include "support/temporary_directory.hpp"

namespace couplet::conformance {

using coalesce::Moment;
using coalesce::Options;
using coalesce::Request;
using coalesce::RequestId;
using coalesce::StepManager;
using exchange::Direction;
using test::LaneKind;
using test::Parties;
using test::Party;

// A client whose stages are functions; those that are not given do nothing.
class Scripted final : public coalesce::Client {
 public:
  using Stage = std::function<Status(const Moment&)>;
  struct Stages {
    Stage fill{};
    Stage overlap{};
    Stage arrived{};
    Stage use{};
    Stage end{};
  };
  Scripted(std::string name, Stages stages) : name_(std::move(name)), stages_(std::move(stages)) {}
  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  Status fill(const Moment& moment) override { return run(stages_.fill, moment); }
  Status overlap(const Moment& moment) override { return run(stages_.overlap, moment); }
  [[nodiscard]] bool hears_arrivals() const noexcept override { return static_cast<bool>(stages_.arrived); }
  Status arrived(const Moment& moment) override { return run(stages_.arrived, moment); }
  Status use(const Moment& moment) override { return run(stages_.use, moment); }
  Status end_round(std::uint64_t round) override { return run(stages_.end, {.round = round}); }

 private:
  static Status run(const Stage& stage, const Moment& moment) { return stage ? stage(moment) : Status(); }
  std::string name_;
  Stages stages_;
};

// What is left of failed exchanges is given back when the channels of a party end, after its thread has ended.
void bury_exchange(std::unique_ptr<exchange::Exchange> exchange);

class Rank {
 public:
  Rank(Party& party, const std::string& directory, const Options& options = {}, const std::string& name = "test");
  ~Rank();
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  [[nodiscard]] int rank() const { return party.rank(); }
  // Returns the place of the client.
  std::size_t add(const std::string& name, Scripted::Stages stages = {});
  template <typename T>
  RequestId send(std::size_t client, int peer, std::int64_t tag, std::vector<T>& data, Request request = {}) {
    return declare(client, Direction::out, peer, tag, data.data(), data.size() * sizeof(T), std::move(request));
  }
  template <typename T>
  RequestId receive(std::size_t client, int peer, std::int64_t tag, std::vector<T>& data, Request request = {}) {
    return declare(client, Direction::in, peer, tag, data.data(), data.size() * sizeof(T), std::move(request));
  }
  Status round(double timeout_s = 30) { return manager->run_round(os::deadline_after(timeout_s)); }

 private:
  RequestId declare(std::size_t client, Direction direction, int peer, std::int64_t tag, void* data,
                    std::uint64_t bytes, Request request);
  exchange::MappedMaker mapped_;
  std::unique_ptr<exchange::TwoSidedMaker> two_sided_;

 public:
  Party& party;
  std::unique_ptr<StepManager> manager;
};

// For threads of tests: a rank that fails must not go on.
#define COALESCE_MUST(expression)                    \
  do {                                               \
    const ::couplet::Status status__ = (expression); \
    EXPECT_TRUE(status__.ok()) << status__.text();   \
    if (!status__.ok()) return;                      \
  } while (false)

void expect_error(const Status& status, Code code, std::initializer_list<const char*> parts);

}  // namespace couplet::conformance
