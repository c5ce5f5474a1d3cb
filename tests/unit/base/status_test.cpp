// Statuses and results: an error keeps its code whatever happens to its sentence.
#include "base/status.hpp"

#include <gtest/gtest.h>

#include <string>

namespace couplet {
namespace {

constexpr Code all_codes[] = {Code::ok,        Code::not_yet,        Code::full,        Code::end,
                              Code::restarted, Code::interrupted,    Code::argument,    Code::state,
                              Code::not_found, Code::exists,         Code::type,        Code::shape,
                              Code::step,      Code::limit,          Code::unsupported, Code::forked,
                              Code::thread,    Code::memory,         Code::config,      Code::mpi,
                              Code::timeout,   Code::truncated,      Code::evicted,     Code::mismatch,
                              Code::peer_lost, Code::authentication, Code::version,     Code::protocol,
                              Code::system,    Code::no_space,       Code::hub_lost,    Code::internal};

TEST(Status, EachCodeIsOkOrAnAnswerOrAnError) {
  for (const Code code : all_codes) {
    const Status status(code);
    EXPECT_EQ(status.ok() + status.answer() + status.error(), 1) << status.text();
    EXPECT_EQ(status.ok(), code == Code::ok);
  }
}

TEST(Status, EachCodeHasItsNameOfTheHeader) {
  for (const Code code : all_codes) {
    const std::string name = code_name(static_cast<couplet_status>(code));
    EXPECT_EQ(name.substr(0, 8), "COUPLET_");
    EXPECT_EQ(Status(code).error(), name.substr(0, 14) == "COUPLET_ERROR_") << name;
  }
  EXPECT_STREQ(code_name(12345), "unknown");
}

TEST(Status, WithoutASentenceTheTextIsTheNameOfTheCode) {
  EXPECT_EQ(Status(Code::memory).text(), "COUPLET_ERROR_MEMORY");
}

TEST(Status, ContextIsPutInFrontOfTheSentence) {
  const Status status = fail(Code::shape, "box {} has {} corners", 3, 5).within("series 'eta'").within("open");
  EXPECT_EQ(status.code(), Code::shape);
  EXPECT_EQ(status.text(), "open: series 'eta': box 3 has 5 corners");
}

TEST(Status, ACopyHasItsOwnSentence) {
  Status first = fail(Code::limit, "too many");
  Status second = first;
  first = Status();
  EXPECT_TRUE(first.ok());
  EXPECT_EQ(second.code(), Code::limit);
  EXPECT_EQ(second.text(), "too many");
  Status& same = second;
  second = same;
  EXPECT_EQ(second.text(), "too many");
}

TEST(Result, HasAValueOrAStatusThatIsNotOk) {
  Result<std::string> good(std::string("value"));
  EXPECT_TRUE(good.ok());
  EXPECT_EQ(good.code(), Code::ok);
  EXPECT_TRUE(good.status().ok());
  EXPECT_EQ(*good, "value");
  EXPECT_EQ(std::move(good).value(), "value");
  const Result<std::string> bad = fail(Code::not_found, "no {}", "file");
  EXPECT_FALSE(bad);
  EXPECT_EQ(bad.code(), Code::not_found);
  EXPECT_EQ(bad.status().text(), "no file");
  EXPECT_EQ(Result<int>(Code::not_yet).code(), Code::not_yet);
}

Result<int> half(int number) {
  if (number % 2 != 0) return fail(Code::argument, "{} is odd", number);
  return number / 2;
}

Status quarter(int number, int& result) {
  COUPLET_TRY_VALUE(const int first, half(number));
  COUPLET_TRY_VALUE(result, half(first));
  COUPLET_TRY(result > 0 ? Status() : fail(Code::limit, "{} is not positive", result));
  return {};
}

TEST(Try, GoesOnWithTheValueOrReturnsTheStatus) {
  int result = 0;
  EXPECT_TRUE(quarter(12, result).ok());
  EXPECT_EQ(result, 3);
  EXPECT_EQ(quarter(5, result).text(), "5 is odd");
  EXPECT_EQ(quarter(6, result).text(), "3 is odd");
  EXPECT_EQ(quarter(0, result).code(), Code::limit);
}

}  // namespace
}  // namespace couplet
