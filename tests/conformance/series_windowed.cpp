// Readers and writers are ranks of one MPI job, and the slots lie in its window (without MPI: tests/universe/test_windows.py
// has that).
#include "conformance/series_suite.hpp"
#include "support/fake_window.hpp"

namespace couplet::conformance {

const SeriesWay windowed = {"windowed",
                            [](const testing::SeriesWorld& world, channel::PeerId self, std::string program) {
                              return std::make_unique<testing::FakeEnvironment>(world, self, std::move(program));
                            },
                            {},
                            [](testing::SeriesWorld& world) {
                              world.job = std::make_shared<testing::FakeJob>();
                              world.settings["series.eta.window"] = "1";
                            }};
INSTANTIATE_TEST_SUITE_P(Windowed, SeriesConformance, ::testing::Values(windowed));

}  // namespace couplet::conformance
