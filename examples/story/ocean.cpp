#include <cmath>
#include <couplet/couplet.hpp>

int main() {  // writes 100 steps of eta[200][300]; waits for the nowcast, and loses nothing
  couplet::Universe universe = couplet::join("ocean");
  auto series = universe.create_series<double>("eta", {200, 300}, {{0, 0}, {200, 300}},
                                               {.slots = 16, .required_readers = "nowcast"});
  for (int step = 1; step <= 100; ++step) {
    std::span<double> eta = series.claim(step).value();  // computes in place: nothing is copied
    for (int n = 0; n < 200 * 300; ++n) eta[n] = std::sin(0.1 * (n % 300 + 1 + step));
    series.publish();
  }
  series.close();
  universe.leave();
}
