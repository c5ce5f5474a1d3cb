// How many descriptors a process has left.
#include "os/descriptor_limit.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "support/child.hpp"

namespace couplet::os {
namespace {

TEST(DescriptorLimit, SaysWhetherSoManyAreLeft) {
  test::Child child([] {
    const rlimit few{.rlim_cur = 40, .rlim_max = 40};
    if (::setrlimit(RLIMIT_NOFILE, &few) != 0) {
      return 1;
    }
    // Twice, since a check gives back what it has opened.
    return are_descriptors_left(8) && !are_descriptors_left(41) && are_descriptors_left(8) ? 0 : 2;
  });
  EXPECT_EQ(child.join(), 0);
}

}  // namespace
}  // namespace couplet::os
