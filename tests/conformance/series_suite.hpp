// One suite for every way of reading a series. A way says in which environment a reader is, and ten lines instantiate
// it (series_mapped.cpp). What a way cannot do is listed in `skips`, and the suite prints it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "series/reader.hpp"
#include "series/writer.hpp"
#include "support/series_world.hpp"

namespace couplet::conformance {

struct SeriesWay {
  const char* name;
  // The environment of one reader rank (or thread). Writers are always in a plain FakeEnvironment.
  std::function<std::unique_ptr<testing::FakeEnvironment>(const testing::SeriesWorld&, channel::PeerId, std::string)>
      reader;
  std::vector<std::string> skips;  // names of tests
  std::function<void(testing::SeriesWorld&)> prepare = {};
};
inline std::ostream& operator<<(std::ostream& out, const SeriesWay& way) {
  return out << way.name;
}

// One field of a coupling with several fields.
struct CoupledField {
  std::string name;
  couplet_type type = COUPLET_INT32;
  std::vector<std::int64_t> shape;
  std::vector<std::vector<layout::Box>> writers;  // the boxes of each writer rank
  std::vector<layout::Box> readers;
};

// Writers and readers, each of them a thread.
struct Coupling {
  std::vector<std::int64_t> shape;
  couplet_type type = COUPLET_INT32;
  std::vector<layout::Box> writers;
  std::vector<layout::Box> readers;
  std::vector<CoupledField> fields;  // in place of shape, type and boxes
  std::int64_t steps = 20;           // 3, 8, 13, ...
  std::uint64_t slots = 4;
  std::uint64_t at_least = 1;
  std::uint64_t up_to = 3;
  bool collective = true;
  bool required = true;  // the readers are required readers
  series::Mode mode = series::Mode::hold;
  unsigned seed = 0;
  bool delays = false;  // random delays on both sides
  bool gaps = false;    // arrays of both sides have ghost cells, another order or run backwards
  bool times = false;   // steps have a physical time

  [[nodiscard]] std::vector<CoupledField> all_fields() const;
};

// What one reader rank has counted.
struct Report {
  std::vector<std::int64_t> steps;
  std::uint64_t wrong = 0;    // delivered steps with an element, or a time, that is not that step's
  std::uint64_t unequal = 0;  // number of times at which the accounting equation did not hold
  series::Statistics statistics;
  std::vector<std::string> mismatches;  // the texts of the calls that answered mismatch
  Status last;                          // the result of the last call, which delivered nothing
};

class SeriesConformance : public ::testing::TestWithParam<SeriesWay> {
 protected:
  void SetUp() override;
  // Runs until every reader has an end or an error. The last writer rank puts `surplus` steps more when the others have
  // ended.
  std::vector<Report> run(const Coupling& coupling, std::int64_t surplus = 0);
  // Checks the usual expectations: whole steps, the equation, END.
  static void expect_sound(const std::vector<Report>& reports);
};

// Divides [0, shape) into a grid of boxes of about equal, but never exactly equal sizes.
std::vector<layout::Box> grid(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& counts);

}  // namespace couplet::conformance
