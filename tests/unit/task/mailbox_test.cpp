// What is kept of task messages that come before their tasks are opened.
#include "task/mailbox.hpp"

#include "world.hpp"

namespace couplet::task {
namespace {

// Issue 8, fault 17: what is kept for tasks that were not opened yet was bounded by its payload only.
TEST(Mailbox, EmptyRequestsToARankThatHasNotOpenedTheTasksAreBounded) {
  constexpr int fit = 100;
  std::atomic<int> refused{0};
  std::atomic<bool> over{false};
  run_programs(
      {{"sim", 1}, {"coupler", 1}, {"worker", 1}},
      [&](const std::string& program, Rank& rank) {
        if (program == "sim") {
          auto tasks = open_requester(rank);
          for (int number = 0; number < 2 * fit && refused == 0; ++number) {
            const Status status = tasks->submit(0, {}, os::deadline_after(0.01), nullptr);
            if (status.code() == Code::limit) {
              EXPECT_NE(status.text().find("rank 1 has not opened the tasks, and already keeps"), std::string::npos)
                  << status.text();
              ++refused;
            }
          }
          over = true;
        } else {
          while (!over) {
            rank.party.engine->poll();
          }
        }
      },
      fit * Mailbox::kept_message_bytes);
  EXPECT_EQ(refused, 1);
}

}  // namespace
}  // namespace couplet::task
