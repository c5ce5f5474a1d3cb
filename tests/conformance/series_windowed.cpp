// Readers and writers that are ranks of one MPI job, with the slots in its window, on the reader's node or on another
// one. This runs without MPI; tests/universe/test_windows.py uses MPI.
#include "conformance/series_suite.hpp"
#include "support/fake_window.hpp"

namespace couplet::conformance {

SeriesWay windowed(const char* name, int ranks_a_node) {
  return {name,
          [](const testing::SeriesWorld& world, channel::PeerId self, std::string program) {
            return std::make_unique<testing::FakeEnvironment>(world, self, std::move(program));
          },
          {},
          [ranks_a_node](testing::SeriesWorld& world) {
            world.job = std::make_shared<testing::FakeJob>();
            world.job->ranks_a_node = ranks_a_node;
            world.settings["series.eta.window"] = "1";
          }};
}
INSTANTIATE_TEST_SUITE_P(Windowed, SeriesConformance,
                         ::testing::Values(windowed("windowed", 1), windowed("windowed_near", testing::FakeJob::ranks),
                                           windowed("windowed_mixed", 3)));

}  // namespace couplet::conformance
