// A reader of the fields of one writer on another node. The test is the relay.
#pragma once

#include "relay/remote.hpp"
#include "series/hold.hpp"
#include "series/reader.hpp"
#include "unit/relay/elsewhere.hpp"

namespace couplet::relay {

using testing_fixture::columns;
using testing_fixture::Connection;
using testing_fixture::Elsewhere;
using testing_fixture::patience_ns;
using testing_fixture::RelayKind;
using testing_fixture::rows;
using testing_fixture::soon;
using testing_fixture::step_bytes;
using testing_fixture::window_steps;

class RelayRemote : public ::testing::Test {
 protected:
  void SetUp() override {
    record_.name = "eta";
    record_.program = "ocean";
    record_.fields = {{"", COUPLET_INT32, {rows, columns}}};
    record_.slots = 8;
    record_.parts = {{0, 0, 0, {{testing_fixture::box_of(0, rows, 0, columns)}}, "series-of-ocean"}};
    reader_.script = [this] { answer(); };
  }
  // Accepts or refuses a request, and notes the end of a subscription.
  void answer() {
    for (const auto& frame : reader_.relay().take(false)) {
      heard_.push_back(Connection::kind_of(frame));
      if (heard_.back() == RelayKind::unsubscribe && !frame.payload.empty()) {
        ended_ = std::move(wire::decode_subscribe(std::as_bytes(std::span(frame.payload)))).value();
        number_ = frame.header.context;
        if (confirm_) {
          reader_.relay().say(RelayKind::unsubscribed, number_);
        }
      }
      if (heard_.back() == RelayKind::subscribe) {
        const auto image = std::as_bytes(std::span(frame.payload));
        subscribed_ = std::move(wire::decode_subscribe(image)).value();
        number_ = frame.header.context;
        if (refuse_.empty()) {
          accept(subscribed_.again ? subscribed_.next : first_);
        } else {
          reader_.relay().say(RelayKind::refused, number_, 0, 0, refusal_, std::as_bytes(std::span(refuse_)));
        }
      }
    }
  }
  void accept(std::uint64_t first) {
    std::array<std::byte, wire::accepted_bytes> image{};
    wire::encode_accepted({false, first, step_bytes, 0}, image);
    reader_.relay().say(RelayKind::accepted, number_, first, 0, 0, image);
  }
  Result<std::unique_ptr<series::Part>> open(series::Mode mode = series::Mode::follow) {
    series::PartSelection wanted;
    wanted.fields = {{0, {testing_fixture::box_of(0, rows, 0, columns)}}};
    wanted.mode = mode;
    COUPLET_TRY_VALUE(auto part, reader_.remote->open_part(record_, 0, wanted, soon()));
    COUPLET_TRY(part->finish_opening(soon()));
    return part;
  }
  std::unique_ptr<series::Part> opened(series::Mode mode = series::Mode::follow) {
    auto part = open(mode);
    EXPECT_TRUE(part.ok()) << part.status().text();
    return std::move(part).value();
  }
  void push_step(std::uint64_t ordinal) {
    const auto values = testing_fixture::field(static_cast<std::int64_t>(ordinal));
    reader_.relay().say(RelayKind::step, number_, ordinal, ordinal, 0, std::as_bytes(std::span(values)));
    reader_.poll();
  }
  static std::uint64_t arrived(series::Part& part) {
    return part.file().control().published.published.load(std::memory_order_relaxed);
  }
  // Gives the reader time to find the relay, and to tell it what it owes.
  void tell_relay() {
    for (const std::uint64_t end = os::now_ns() + 50'000'000; os::now_ns() < end;) {
      reader_.remote->send_owed_ends();
      reader_.poll();
      answer();
    }
  }
  // Polls for that long.
  static void look_for(series::Part& part, std::uint64_t time_ns) {
    for (const std::uint64_t end = os::now_ns() + time_ns; os::now_ns() < end;) {
      EXPECT_TRUE(part.poll().ok());
    }
  }
  // Polls, and waits for the reader's patience to end.
  static Status fate(series::Part& part) {
    const std::uint64_t end = os::now_ns() + 20 * patience_ns;
    Status status;
    while ((status = part.alive()).ok() && os::now_ns() < end) {
      EXPECT_TRUE(part.poll().ok());
    }
    return status;
  }
  // The relay sends something wrong, in the middle of a step if `begun` is true.
  std::string failure_of(const std::function<void(Connection&)>& say) {
    if (!reader_.there) {
      reader_.start_relay();
    }
    auto part = opened();
    push_step(0);
    say(reader_.relay());
    reader_.poll();
    EXPECT_EQ(arrived(*part), 1U);
    std::string failure = reader_.relay().failure();
    reader_.kill_relay();
    return failure;
  }

  testing::SeriesWorld world_;
  Elsewhere reader_{world_};
  universe::SeriesRecord record_;
  wire::Subscribe subscribed_;
  wire::Subscribe ended_;
  bool confirm_ = true;
  std::uint32_t number_ = 0;
  std::uint64_t first_ = 0;
  std::string refuse_;
  std::int32_t refusal_ = COUPLET_ERROR_LIMIT;
  std::vector<RelayKind> heard_;
};

}  // namespace couplet::relay
