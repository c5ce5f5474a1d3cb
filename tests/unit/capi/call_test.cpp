// What every C call does around the call of the runtime: exceptions, handles and the sentence of the last error.
#include "capi/call.hpp"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>
#include <thread>

namespace couplet::capi {
namespace {

TEST(Guarded, ReturnsTheStatusAndKeepsItsSentence) {
  EXPECT_EQ(guarded([] { return Status(); }), COUPLET_OK);
  EXPECT_EQ(guarded([] { return fail(Code::shape, "box {}", 3); }), COUPLET_ERROR_SHAPE);
  EXPECT_STREQ(couplet_error_text(), "box 3");
  EXPECT_EQ(guarded([] { return Status(Code::not_yet); }), COUPLET_NOT_YET);
  EXPECT_STREQ(couplet_error_text(), "COUPLET_NOT_YET");
}

TEST(Guarded, NoExceptionLeavesIt) {
  EXPECT_EQ(guarded([]() -> Status { throw std::bad_alloc(); }), COUPLET_ERROR_MEMORY);
  EXPECT_EQ(guarded([]() -> Status { throw std::runtime_error("broken"); }), COUPLET_ERROR_INTERNAL);
  EXPECT_NE(std::string(couplet_error_text()).find("broken"), std::string::npos);
  EXPECT_EQ(guarded([]() -> Status { throw 5; }), COUPLET_ERROR_INTERNAL);
}

TEST(Guarded, EachThreadHasItsOwnSentence) {
  EXPECT_EQ(guarded([] { return fail(Code::limit, "mine"); }), COUPLET_ERROR_LIMIT);
  std::thread other([] { EXPECT_EQ(guarded([] { return fail(Code::limit, "of another"); }), COUPLET_ERROR_LIMIT); });
  other.join();
  EXPECT_STREQ(couplet_error_text(), "mine");
}

TEST(Usable, AHandleThatIsNullClosedOrOfAnotherProcessIsAnError) {
  couplet_universe universe;
  couplet_series series;
  series.owner = &universe;
  EXPECT_TRUE(usable(&series, "put").ok());
  EXPECT_EQ(usable(static_cast<couplet_series*>(nullptr), "put").text(),
            "put: the series handle is NULL or was closed");
  series.kind = HandleKind::gone;
  EXPECT_EQ(usable(&series, "put").code(), Code::argument);
  series.kind = HandleKind::series;
  ++universe.fork_generation;
  EXPECT_EQ(usable(&series, "put").code(), Code::forked);
  universe.kind = HandleKind::gone;
  EXPECT_EQ(usable(&universe, "leave").text(), "leave: the universe handle is NULL, or this universe was left");
}

TEST(Usable, AHandleOfAnotherKindIsAnError) {
  couplet_universe universe;
  couplet_tasks tasks;
  tasks.owner = &universe;
  EXPECT_EQ(usable(reinterpret_cast<couplet_series*>(&tasks), "put").code(), Code::argument);
}

TEST(Handles, KeepsAsManyAsAreAdded) {
  int things[7];
  Handles handles;
  for (std::size_t count = 0; count < std::size(things); ++count) {
    handles.add(&things[count], Use::uses);
    ASSERT_EQ(handles.all().size(), count + 1);
    for (std::size_t index = 0; index <= count; ++index) {
      EXPECT_EQ(handles.all()[index].handle, &things[index]);
    }
  }
}

TEST(Handles, OfCompletedRequestsThoseThatAreNullAreLeftOut) {
  couplet_series first;
  couplet_series second;
  couplet_series* const list[] = {&first, nullptr, &second};
  Handles handles;
  handles.add_completed(3, list);
  ASSERT_EQ(handles.all().size(), 2U);
  EXPECT_EQ(handles.all()[1].handle, &second);
}

TEST(ACall, OnAClosedHandleDoesNotRunItsBody) {
  couplet_universe universe;
  couplet_series series;
  series.owner = &universe;
  int runs = 0;
  const auto body = [&] {
    ++runs;
    return Status();
  };
  EXPECT_EQ(call(&series, "put", body), COUPLET_OK);
  series.kind = HandleKind::gone;
  EXPECT_EQ(call(&series, "put", body), COUPLET_ERROR_ARGUMENT);
  EXPECT_EQ(runs, 1);
}

TEST(ACall, ThatClosesAHandleTakesItOutOfItsListWhateverItsBodyAnswers) {
  couplet_universe universe;
  universe.series.push_back(std::make_unique<couplet_series>());
  couplet_series* const series = universe.series.front().get();
  series->owner = &universe;
  EXPECT_EQ(close(series, &couplet_universe::series, "close", [] { return fail(Code::system, "no"); }),
            COUPLET_ERROR_SYSTEM);
  EXPECT_TRUE(universe.series.empty());
}

TEST(TheInterruptCheck, IsThatOfTheCallingThread) {
  couplet_set_interrupt_check([](void*) { return 1; }, nullptr);
  EXPECT_TRUE(interrupted());
  std::thread other([] { EXPECT_FALSE(interrupted()); });
  other.join();
  couplet_set_interrupt_check(nullptr, nullptr);
  EXPECT_FALSE(interrupted());
}

}  // namespace
}  // namespace couplet::capi
