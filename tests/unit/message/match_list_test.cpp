// The list by which messages and receives find each other: what is found is what a walk would find.
#include "message/match_list.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

#include "memory.hpp"

namespace couplet::message {
namespace {

struct Element {
  std::uint32_t context = 0;
  std::int32_t tag = 0;
  int number = 0;
  Element* next = nullptr;
  Element* previous = nullptr;
  Element* next_alike = nullptr;
  Element* previous_alike = nullptr;
};
constexpr auto any = [](const Element&) { return true; };

TEST(MatchList, FindsWhatAWalkFindsWhateverItsLength) {
  std::mt19937 random(1);
  std::deque<Element> elements;
  std::vector<Element*> order;  // the reference
  MatchList<Element> list;
  bool was_filed = false;
  for (int step = 0; step < 200000; ++step) {
    const bool grows = (step / 5000) % 2 == 0;  // up to some thousands, and down to nothing
    const auto context = static_cast<std::uint32_t>(random() % 3);
    const auto tag = static_cast<std::int32_t>(random() % 40) - 1;
    if (random() % 4 != 0 ? grows : !grows) {
      Element& element = elements.emplace_back();
      element.context = context;
      element.tag = tag;
      element.number = step;
      list.push_back(element);
      order.push_back(&element);
    } else {
      Element* expected = nullptr;
      for (Element* element : order) {
        if (element->context == context && element->tag == tag) {
          expected = element;
          break;
        }
      }
      Element* found = list.find(context, tag, any);
      ASSERT_EQ(found, expected);
      if (found == nullptr) found = list.first();
      if (found != nullptr) {
        list.remove(*found);
        std::erase(order, found);
      }
    }
    was_filed = was_filed || list.filed();
    ASSERT_EQ(list.first(), order.empty() ? nullptr : order.front());
    ASSERT_EQ(list.empty(), order.empty());
  }
  EXPECT_TRUE(was_filed);
  while (list.pop_front() != nullptr) {
  }
  EXPECT_FALSE(list.filed());
}

TEST(MatchList, AShortListAllocatesNothing) {
  std::deque<Element> elements(MatchList<Element>::max_walked);
  const std::uint64_t before = test::allocation_count();
  MatchList<Element> list;
  for (Element& element : elements) list.push_back(element);
  EXPECT_FALSE(list.filed());
  EXPECT_EQ(test::allocation_count(), before);
}

}  // namespace
}  // namespace couplet::message
