#include "wire/task_message.hpp"

#include <gtest/gtest.h>

namespace couplet::wire {
namespace {

TaskMessage sample() {
  TaskMessage message;
  message.kind = TaskMessageKind::work;
  message.space = 0x0102030405060708;
  message.number = 9;
  message.worker = -1;
  message.source = 3;
  message.code = COUPLET_ERROR_SHAPE;
  message.type = 2;
  message.numbers = {-2};
  message.text = "ab";
  message.payload = std::string("\x01\x00\x02\x00", 4);
  return message;
}

TEST(TaskMessage, GoldenBytes) {
  const std::string expected(
      "CTK1\x06\x00\x00\x00\x08\x07\x06\x05\x04\x03\x02\x01\x09\x00\x00\x00\x00\x00\x00\x00"
      "\xff\xff\xff\xff\x03\x00\x00\x00\xfa\xff\xff\xff\x02\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00"
      "\x04\x00\x00\x00\x00\x00\x00\x00\xfe\xff\xff\xff\xff\xff\xff\xff"
      "ab\x01\x00\x02\x00",
      70);
  EXPECT_EQ(encode_task_message(sample()), expected);
  const auto back = decode_task_message(expected);
  ASSERT_TRUE(back) << back.status().text();
  EXPECT_EQ(back->numbers, sample().numbers);
  EXPECT_EQ(back->text, "ab");
  EXPECT_EQ(back->payload, sample().payload);
  EXPECT_EQ(back->status().code(), Code::shape);
}

TEST(TaskMessage, NothingButAMessageIsTaken) {
  const std::string good = encode_task_message(sample());
  for (std::size_t bytes = 0; bytes < good.size(); ++bytes) {
    EXPECT_EQ(decode_task_message(std::string_view(good).substr(0, bytes)).code(), Code::protocol) << bytes;
  }
  EXPECT_EQ(decode_task_message(good + "x").code(), Code::protocol);
  for (const auto& [offset, value] : {std::pair{0, 'X'},
                                      {4, '\x0d'},
                                      {4, '\x00'},
                                      {5, '\x02'},
                                      {6, '\x01'},
                                      {32, '\x01'},
                                      {36, '\x0d'},
                                      {42, '\x01'},
                                      {48, '\x03'}}) {
    std::string bad = good;
    bad[static_cast<std::size_t>(offset)] = value;
    EXPECT_EQ(decode_task_message(bad).code(), Code::protocol) << offset;
  }
}

}  // namespace
}  // namespace couplet::wire
