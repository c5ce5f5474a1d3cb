// The ends of series: the last steps come, also if the writer ranks end after different numbers of steps.
#include "conformance/series_suite.hpp"

namespace couplet::conformance {
namespace {

TEST_P(SeriesConformance, ManyStepsAreWaitedForAndTheLastOnesCome) {
  Coupling coupling;
  coupling.shape = {5, 6};
  coupling.writers = grid(coupling.shape, {2, 1});
  coupling.readers = grid(coupling.shape, {1, 2});
  coupling.steps = 22;
  coupling.slots = 8;
  coupling.at_least = 4;
  coupling.up_to = 4;
  for (const auto& report : run(coupling)) {
    EXPECT_EQ(report.steps.size(), 22U);
    // 5 reads of 4 steps, and one of the 2 that were left.
    EXPECT_EQ(report.statistics.calls, 6U);
    EXPECT_EQ(report.statistics.largest_batch, 4U);
  }
}

// A step is whole only if all have put it. The reader is told what it does not get before it is told of the end, also
// if the surplus comes when the other writer has closed the series.
TEST_P(SeriesConformance, WritersThatEndAfterDifferentNumbersOfStepsAreToldOf) {
  Coupling coupling;
  coupling.shape = {12, 6};
  coupling.writers = grid(coupling.shape, {2, 1});
  for (const std::size_t readers : {std::size_t{1}, std::size_t{2}}) {
    coupling.readers.assign(readers, layout::whole(coupling.shape));
    coupling.collective = readers == 1;
    const auto reports = run(coupling, 2);
    expect_sound(reports);
    for (const Report& report : reports) {
      EXPECT_EQ(report.steps.size(), static_cast<std::size_t>(coupling.steps));
      EXPECT_EQ(report.statistics.lost, 2U);
      ASSERT_EQ(report.mismatches.size(), 1U);
      EXPECT_EQ(
          report.mismatches[0],
          "series 'eta': writer rank 0 has ended it after 20 steps, and writer rank 1 has published 22; the 2 steps "
          "that are not whole are lost");
    }
  }
}

// Each reader rank reads what one writer rank writes.
TEST_P(SeriesConformance, RanksOfATeamAreToldTogetherThatItsWritersHaveEndedUnevenly) {
  Coupling coupling;
  coupling.shape = {12, 6};
  coupling.writers = grid(coupling.shape, {2, 1});
  coupling.readers = coupling.writers;
  const auto reports = run(coupling, 2);
  expect_sound(reports);
  for (const Report& report : reports) {
    EXPECT_EQ(report.steps.size(), static_cast<std::size_t>(coupling.steps));
    EXPECT_EQ(report.statistics.lost, 2U);
    EXPECT_EQ(report.mismatches.size(), reports[0].mismatches.size());
    EXPECT_FALSE(report.mismatches.empty());
  }
  coupling.collective = false;
  const auto alone = run(coupling, 2);
  expect_sound(alone);
  EXPECT_EQ(alone[0].steps.size() + 2, alone[1].steps.size());  // nobody has told them that they belong together
  EXPECT_TRUE(alone[0].mismatches.empty());
}

}  // namespace
}  // namespace couplet::conformance
