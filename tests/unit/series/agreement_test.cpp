// The sequences in which the ranks of a reader agree: at each point one rank fails alone. The others find out, nobody
// waits for ever, nothing is counted or held afterwards that should not be, and the next call works.
#include <optional>
#include <thread>

#include "series/collective.hpp"
#include "unit/series/fixture.hpp"

namespace couplet::series {
namespace {

using namespace testing_fixture;

class FailingEnvironment final : public FakeEnvironment {
 public:
  FailingEnvironment(const SeriesWorld& world, channel::PeerId self) : FakeEnvironment(world, self, "nowcast") {}
  Status before_agreement(AgreementPoint point) override {
    ++passed[static_cast<std::size_t>(point)];
    if (fails_at == point) {
      fails_at.reset();
      return fail(Code::no_space, "this rank has no space");
    }
    return {};
  }
  std::optional<AgreementPoint> fails_at;
  std::array<int, static_cast<std::size_t>(last_agreement_point) + 1> passed{};
};

class Agreeing : public Series {
 protected:
  // Runs one call on both ranks at the same time.
  template <typename Call>
  static void on_both(Call&& call) {
    std::thread other([&] { call(1); });
    call(0);
    other.join();
  }
  std::array<Status, 2> open_both(const ReaderOptions& given = {}) {
    std::array<Status, 2> outcomes;
    on_both([&](int rank) {
      const auto index = static_cast<std::size_t>(rank);
      ReaderOptions options = given;
      options.box = box_of(rank * 3, rank == 0 ? 3 : rows, 0, columns);
      auto opened = Reader::open(environments[index], teams[index], "eta", options, soon());
      outcomes[index] = opened.status();
      readers[index] = opened ? std::move(opened).value() : nullptr;
    });
    return outcomes;
  }
  std::array<Status, 2> read_both(std::uint64_t at_least, std::uint64_t up_to, double timeout_s = patience_s) {
    std::array<Status, 2> outcomes;
    on_both([&](int rank) {
      const auto index = static_cast<std::size_t>(rank);
      batches[index] = {};
      outcomes[index] = read(*readers[index], at_least, up_to, batches[index], timeout_s);
    });
    return outcomes;
  }
  static void expect_told(const std::array<Status, 2>& outcomes, const char* what) {
    EXPECT_EQ(outcomes[0].code(), Code::no_space) << what << ": " << outcomes[0].text();
    EXPECT_NE(outcomes[0].text().find("reader rank 1"), std::string::npos) << what << ": " << outcomes[0].text();
    EXPECT_EQ(outcomes[1].code(), Code::no_space) << what << ": " << outcomes[1].text();
  }
  void expect_same_steps(std::initializer_list<std::int64_t> steps) {
    for (const Batch& batch : batches) {
      ASSERT_EQ(std::vector(batch.steps, batch.steps + batch.count), std::vector<std::int64_t>(steps));
    }
    for (std::size_t rank = 0; rank < 2; ++rank) {
      expect_content(batches[rank], box_of(rank == 0 ? 0 : 3, rank == 0 ? 3 : rows, 0, columns));
      expect_equation(readers[rank]->count());
    }
  }
  void put_timed(Writer& writer, std::int64_t step) {
    ASSERT_TRUE(writer.set_time(static_cast<double>(step)).ok());
    put(writer, step);
  }

  testing::TeamRoom room{2};
  std::array<testing::ThreadTeam, 2> teams{testing::ThreadTeam(room, 0), testing::ThreadTeam(room, 1)};
  std::array<FailingEnvironment, 2> environments{FailingEnvironment(world, 10), FailingEnvironment(world, 11)};
  std::array<std::unique_ptr<Reader>, 2> readers;
  std::array<Batch, 2> batches;
};

TEST_F(Agreeing, OpenFailsOnAllRanksWhereverOneFails) {
  WriterOptions impatient;
  impatient.wait_timeout_s = 0;
  auto writer = create(2, impatient);
  for (const auto point : {AgreementPoint::choice, AgreementPoint::record, AgreementPoint::sources,
                           AgreementPoint::start, AgreementPoint::opened}) {
    environments[1].fails_at = point;
    const auto name = fmt::format("point {}", static_cast<int>(point));
    expect_told(open_both(), name.c_str());
    EXPECT_FALSE(environments[1].fails_at) << name << " was not passed";
  }
  for (std::int64_t step = 0; step < 5; ++step) {
    put(*writer, step);  // no hold was left behind
  }
  const auto opened = open_both();
  ASSERT_TRUE(opened[0].ok() && opened[1].ok()) << opened[0].text() << opened[1].text();
  const auto outcomes = read_both(2, 2);
  ASSERT_TRUE(outcomes[0].ok() && outcomes[1].ok());
  expect_same_steps({3, 4});
}

TEST_F(Agreeing, WrongOptionsOfOneRankAreToldToAll) {
  auto writer = create(2);
  std::array<Status, 2> outcomes;
  on_both([&](int rank) {
    const auto index = static_cast<std::size_t>(rank);
    Result<ReaderOptions> options = ReaderOptions();
    if (rank == 1) {
      options = fail(Code::argument, "no mode 7");
    }
    outcomes[index] = Reader::open_checked(environments[index], teams[index], "eta", options, soon()).status();
  });
  EXPECT_EQ(outcomes[0].code(), Code::argument);
  EXPECT_NE(outcomes[0].text().find("reader rank 1"), std::string::npos) << outcomes[0].text();
  EXPECT_EQ(outcomes[1].code(), Code::argument);
  on_both([&](int rank) {
    const auto index = static_cast<std::size_t>(rank);
    const char* const name = rank == 0 ? "eta" : "theta";
    outcomes[index] = Reader::open(environments[index], teams[index], name, {}, soon()).status();
  });
  EXPECT_EQ(outcomes[0].code(), Code::mismatch) << outcomes[0].text();
  EXPECT_EQ(outcomes[1].code(), Code::mismatch) << outcomes[1].text();
}

TEST_F(Agreeing, AReadFailsOnAllRanksWhereverOneFailsAndTheNextGivesTheSteps) {
  auto writer = create(8);
  ReaderOptions options;
  options.interval = 1;
  const auto opened = open_both(options);
  ASSERT_TRUE(opened[0].ok() && opened[1].ok()) << opened[0].text() << opened[1].text();
  std::int64_t step = 0;
  for (const auto point : {AgreementPoint::plan, AgreementPoint::times, AgreementPoint::copies}) {
    put_timed(*writer, step);
    put_timed(*writer, step + 1);
    environments[1].fails_at = point;
    const auto name = fmt::format("point {}", static_cast<int>(point));
    expect_told(read_both(1, 8), name.c_str());
    EXPECT_FALSE(environments[1].fails_at) << name << " was not passed";
    for (const auto& reader : readers) {
      EXPECT_EQ(reader->count().delivered, static_cast<std::uint64_t>(step));
      EXPECT_EQ(reader->count().lost, 0U);
    }
    const auto outcomes = read_both(1, 8);
    ASSERT_TRUE(outcomes[0].ok() && outcomes[1].ok()) << outcomes[0].text() << outcomes[1].text();
    expect_same_steps({step, step + 1});
    step += 2;
  }
}

TEST_F(Agreeing, ARestartThatFailsOnOneRankIsTriedAgainByAll) {
  auto writer = create(4);
  const auto opened = open_both();
  ASSERT_TRUE(opened[0].ok() && opened[1].ok()) << opened[0].text() << opened[1].text();
  put(*writer, 1);
  auto outcomes = read_both(1, 4);
  ASSERT_TRUE(outcomes[0].ok() && outcomes[1].ok());
  for (const auto point :
       {AgreementPoint::record, AgreementPoint::sources, AgreementPoint::start, AgreementPoint::opened}) {
    ASSERT_TRUE(writer->close(soon()).ok());
    while (outcomes[0].ok() || outcomes[0].code() == Code::not_yet) {
      outcomes = read_both(1, 4, 0);
    }
    EXPECT_EQ(outcomes[0].code(), Code::end) << outcomes[0].text();
    EXPECT_EQ(outcomes[1].code(), Code::end) << outcomes[1].text();
    writer.reset();
    writer = create(4);
    put(*writer, 10 + static_cast<int>(point));
    environments[1].fails_at = point;
    const auto name = fmt::format("point {}", static_cast<int>(point));
    expect_told(read_both(1, 4, 0), name.c_str());
    EXPECT_FALSE(environments[1].fails_at) << name << " was not passed";
    outcomes = read_both(1, 4);
    EXPECT_EQ(outcomes[0].code(), Code::restarted) << outcomes[0].text();
    EXPECT_EQ(outcomes[1].code(), Code::restarted) << outcomes[1].text();
    outcomes = read_both(1, 4);
    ASSERT_TRUE(outcomes[0].ok() && outcomes[1].ok()) << outcomes[0].text() << outcomes[1].text();
    expect_same_steps({10 + static_cast<int>(point)});
    EXPECT_EQ(readers[0]->count().lost, 0U);
  }
}

}  // namespace
}  // namespace couplet::series
