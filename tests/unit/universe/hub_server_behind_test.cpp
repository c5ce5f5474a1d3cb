// Members that read nothing of what the hub tells them, since they compute or are stopped.
#include "hub_thread.hpp"

namespace couplet::universe {
namespace {

SeriesRecord record_of(const Membership& writer, const std::string& name) {
  SeriesRecord record;
  record.name = name;
  record.program = "nowcast";
  record.fields = {{"", COUPLET_DOUBLE, {4}}};
  record.slots = 2;
  SeriesPart part;
  part.writer = writer.id();
  part.node = writer.node();
  part.boxes = {{{1, {0}, {4}}}};
  part.file = "series-" + name;
  record.parts.push_back(part);
  return record;
}

class ComputingMember : public HubServerTest {
 protected:
  // ocean has opened the series 'eta' of nowcast and makes no call until the test says so.
  void begin(HubServerOptions options = {}) {
    hub_ = std::make_unique<Hub>("ocean:1,nowcast:1,other:1", base_, channel::Protection::none, std::move(options));
    std::thread nowcast([&] { nowcast_ = take(join(this->options(*hub_, "nowcast"))); });
    std::thread other([&] { other_ = take(join(this->options(*hub_, "other"))); });
    ocean_ = take(join(this->options(*hub_, "ocean")));
    nowcast.join();
    other.join();
    ASSERT_TRUE(ocean_ && nowcast_ && other_);
    ASSERT_TRUE(announce());
    ASSERT_TRUE(ocean_->registry().reader_opened("eta", 0, 1, os::deadline_after(20)).ok());
  }
  static std::unique_ptr<Membership> take(Result<std::unique_ptr<Membership>> joined) {
    EXPECT_TRUE(joined.ok()) << joined.status().text();
    return joined.ok() ? std::move(*joined) : nullptr;
  }
  bool announce() {
    auto record = record_of(*nowcast_, "eta");
    record.creation = ++creation_;
    const auto announced = nowcast_->registry().announce(record, os::deadline_after(20));
    EXPECT_TRUE(announced.ok()) << announced.status().text();
    incarnation_ = announced.ok() ? static_cast<std::int64_t>(announced->incarnation) : -1;
    return announced.ok();
  }
  // Two changes that the hub tells every reader of the series.
  bool change() {
    const auto closed = nowcast_->registry().writer_closed("eta", os::deadline_after(20));
    EXPECT_TRUE(closed.ok()) << closed.text();
    return closed.ok() && announce();
  }
  // ocean makes calls again until it knows the newest state.
  [[nodiscard]] bool ocean_catches_up() {
    return test::eventually([&] {
      static_cast<void>(ocean_->registry().find("nothing", -1, 0));
      return ocean_->registry().news("eta").incarnation == incarnation_;
    });
  }
  void end() {
    for (auto* const member : {&ocean_, &nowcast_, &other_}) {
      if (*member != nullptr) {
        leave(**member);
        member->reset();
      }
    }
    hub_.reset();
  }

  std::unique_ptr<Hub> hub_;
  std::unique_ptr<Membership> ocean_;
  std::unique_ptr<Membership> nowcast_;
  std::unique_ptr<Membership> other_;
  std::uint64_t creation_ = 0;
  std::int64_t incarnation_ = -1;
};

// TCP_USER_TIMEOUT took it for dead 3 s after its window was full.
TEST_F(ComputingMember, IsNotDeadAfterThousandsOfMessagesOfTheHub) {
  begin();
  for (int count = 0; count < 3000; ++count) {
    ASSERT_TRUE(change());
  }
  for (const auto until = os::deadline_after(7); os::now_ns() < until;) {  // longer than any time of a connection
    ASSERT_EQ(nowcast_->registry().find("nothing", -1, os::deadline_after(0.2)).code(), Code::not_yet);
    ASSERT_TRUE(universe::alive(*nowcast_, 0).ok()) << universe::alive(*nowcast_, 0).text();
  }
  EXPECT_TRUE(ocean_catches_up());
  EXPECT_TRUE(ocean_->hub().ok()) << ocean_->hub().text();
  end();
}

TEST_F(ComputingMember, LearnsTheNewestStateAfterMoreThanIsKeptForIt) {
  HubServerOptions options;
  options.max_behind_bytes = 2000;
  begin(std::move(options));
  for (int count = 0; count < 6000; ++count) {
    ASSERT_TRUE(change());
  }
  EXPECT_GT(hub_->times_behind(), 0U) << "nothing was kept from it: the test shows nothing";
  leave(*other_);
  other_.reset();
  EXPECT_TRUE(ocean_catches_up());
  EXPECT_TRUE(test::eventually([&] { return universe::alive(*ocean_, 2).code() == Code::peer_lost; }));
  EXPECT_NE(universe::alive(*ocean_, 2).text().find("program 'other' rank 0"), std::string::npos)
      << universe::alive(*ocean_, 2).text();
  EXPECT_TRUE(ocean_->hub().ok()) << ocean_->hub().text();
  end();
}

// The hub read nothing further of it, and wrote nothing further to it either: no call of it was ever answered.
TEST_F(ComputingMember, ThatSaysMuchBeforeItReadsTheAnswersGetsThem) {
  HubServerOptions options;
  options.max_behind_bytes = 2000;
  begin(std::move(options));
  // The system keeps the answers as well, and decides how many.
  for (int round = 0; round < 100 && hub_->times_behind() == 0; ++round) {
    for (int count = 0; count < 10000; ++count) {
      static_cast<void>(ocean_->registry().reader_closed("nothing", unanswered));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ASSERT_TRUE(test::eventually([&] { return hub_->times_behind() > 0; }));
  std::this_thread::sleep_for(std::chrono::seconds(1));  // the hub takes all that it takes
  const auto found = ocean_->registry().find("eta", -1, os::deadline_after(20));
  EXPECT_TRUE(found.ok()) << found.status().text();
  end();
}

}  // namespace
}  // namespace couplet::universe
