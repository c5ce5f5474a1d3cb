// Readers on the writer's node, which map its slots.
#include "conformance/series_suite.hpp"

namespace couplet::conformance {

const SeriesWay mapped = {"mapped",
                          [](const testing::SeriesWorld& world, channel::PeerId self, std::string program) {
                            return std::make_unique<testing::FakeEnvironment>(world, self, std::move(program));
                          },
                          {}};
INSTANTIATE_TEST_SUITE_P(Mapped, SeriesConformance, ::testing::Values(mapped));

}  // namespace couplet::conformance
