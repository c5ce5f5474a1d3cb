// Random decompositions, checked element by element against the global array.
#include "layout/copy.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace couplet::layout {
namespace {

using Bytes = std::vector<std::byte>;

// Fills element `flat` of the global array.
void fill_element(std::byte* element, std::size_t bytes, std::uint64_t flat) {
  for (std::size_t at = 0; at < bytes; ++at) {
    element[at] = static_cast<std::byte>((flat * 31 + at * 7 + (flat >> 8)) & 0xFF);
  }
}

template <typename Visit>
void for_each_element(const Box& box, Visit&& visit) {  // visit(index in the array, number within the box)
  std::array<std::int64_t, max_dimensions> index = box.start;
  const std::uint64_t count = box.elements();
  for (std::uint64_t number = 0; number < count; ++number) {
    visit(index, number);
    for (int dimension = box.dimensions - 1; dimension >= 0; --dimension) {
      const auto at = static_cast<std::size_t>(dimension);
      if (++index[at] < box.stop[at]) {
        break;
      }
      index[at] = box.start[at];
    }
  }
}

std::uint64_t flat_index(const std::vector<std::int64_t>& shape,
                         const std::array<std::int64_t, max_dimensions>& index) {
  std::uint64_t flat = 0;
  for (std::size_t dimension = 0; dimension < shape.size(); ++dimension) {
    flat = flat * static_cast<std::uint64_t>(shape[dimension]) + static_cast<std::uint64_t>(index[dimension]);
  }
  return flat;
}

Bytes content_of(const Box& box, const std::vector<std::int64_t>& shape, std::size_t element_bytes) {
  Bytes bytes(box.elements() * element_bytes);
  for_each_element(box, [&](const auto& index, std::uint64_t number) {
    fill_element(bytes.data() + number * element_bytes, element_bytes, flat_index(shape, index));
  });
  return bytes;
}

Box random_box(std::mt19937& random, const std::vector<std::int64_t>& shape) {
  Box box;
  box.dimensions = static_cast<int>(shape.size());
  for (std::size_t dimension = 0; dimension < shape.size(); ++dimension) {
    std::uniform_int_distribution<std::int64_t> place(0, shape[dimension]);
    const std::int64_t a = place(random);
    const std::int64_t b = place(random);
    box.start[dimension] = std::min(a, b);
    box.stop[dimension] = std::max(a, b);
  }
  return box;
}

// Divides the array into a grid of boxes with random borders.
std::vector<Box> random_decomposition(std::mt19937& random, const std::vector<std::int64_t>& shape) {
  std::vector<Box> boxes = {whole(shape)};
  for (std::size_t dimension = 0; dimension < shape.size(); ++dimension) {
    const std::int64_t border = std::uniform_int_distribution<std::int64_t>(0, shape[dimension])(random);
    std::vector<Box> cut;
    for (const Box& box : boxes) {
      Box low = box;
      Box high = box;
      low.stop[dimension] = border;
      high.start[dimension] = border;
      cut.push_back(low);
      cut.push_back(high);
    }
    boxes = cut;
  }
  return boxes;
}

TEST(Copy, TwoHundredRandomDecompositionsGiveTheGlobalArray) {
  constexpr std::array<std::size_t, 7> sizes = {1, 2, 3, 4, 8, 16, 24};
  constexpr std::array<std::int64_t, 4> longest = {5000, 90, 24, 11};
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const std::size_t dimensions = 1 + seed % 4;
    const std::size_t element_bytes = sizes[seed % sizes.size()];
    std::vector<std::int64_t> shape(dimensions);
    for (auto& extent : shape) {
      extent = std::uniform_int_distribution<std::int64_t>(1, longest[dimensions - 1])(random);
    }
    const Box wanted = random_box(random, shape);
    const Bytes expected = content_of(wanted, shape, element_bytes);
    for (const CopyMethod method : {CopyMethod::cached, CopyMethod::streaming}) {
      Bytes result(expected.size(), std::byte{0xEE});
      std::uint64_t copied = 0;
      for (const Box& part : random_decomposition(random, shape)) {
        const Bytes source = content_of(part, shape, element_bytes);
        const CopyPlan plan = plan_copy(part, wanted, element_bytes);
        copied += plan.bytes();
        copy_racing(plan, result.data(), source.data(), method);
      }
      store_fence();
      ASSERT_EQ(copied, expected.size()) << "seed " << seed;
      ASSERT_EQ(result, expected) << "seed " << seed << " box " << to_string(wanted);
    }
  }
}

TEST(Copy, EveryKernelCopiesEveryLengthAndAlignmentAndNoByteMore) {
  constexpr std::size_t border = 64;
  for (const char* name : {"avx512", "avx2", "x86-64", "memcpy"}) {
    for (const CopyMethod method : {CopyMethod::cached, CopyMethod::streaming}) {
      const RowsKernel kernel = find_copy_kernel(name, method);
      if (kernel == nullptr) {
        continue;  // this kernel is for another processor
      }
      for (std::uint64_t row_bytes :
           {1U, 2U, 3U, 5U, 7U, 8U, 15U, 16U, 31U, 33U, 63U, 64U, 65U, 127U, 200U, 255U, 256U, 257U, 300U, 2401U}) {
        for (std::uint64_t gap : {0U, 1U, 24U, 64U}) {
          for (std::uint64_t shift : {0U, 1U, 13U, 32U, 63U}) {
            constexpr std::uint64_t rows = 5;
            const std::uint64_t stride = row_bytes + gap;
            const std::uint64_t source_stride = row_bytes + 17;
            Bytes source(rows * source_stride);
            for (std::size_t at = 0; at < source.size(); ++at) {
              source[at] = static_cast<std::byte>(at * 13 + at / 251);
            }
            Bytes target(border + shift + rows * stride + border, std::byte{0xEE});
            Bytes expected = target;
            for (std::uint64_t row = 0; row < rows; ++row) {
              std::memcpy(expected.data() + border + shift + row * stride, source.data() + row * source_stride,
                          row_bytes);
            }
            kernel(target.data() + border + shift, stride, source.data(), source_stride, row_bytes, rows);
            store_fence();
            ASSERT_EQ(target, expected) << name << " row " << row_bytes << " gap " << gap << " shift " << shift;
          }
        }
      }
    }
  }
}

// The portable kernel added strides as unsigned numbers. It is compiled on every processor, so that every processor
// tests it.
TEST(Copy, EveryKernelFollowsStridesThatLeadBack) {
  constexpr std::uint64_t rows = 6;
  for (const char* name : {"avx512", "avx2", "x86-64", "memcpy"}) {
    for (const CopyMethod method : {CopyMethod::cached, CopyMethod::streaming}) {
      const RowsKernel kernel = find_copy_kernel(name, method);
      if (kernel == nullptr) {
        ASSERT_NE(std::string_view(name), "memcpy");
        continue;  // this kernel is for another processor
      }
      for (const std::uint64_t row_bytes : {5U, 24U, 300U, 2048U}) {
        Bytes source(rows * row_bytes);
        for (std::size_t at = 0; at < source.size(); ++at) {
          source[at] = static_cast<std::byte>(at * 7 + at / 253);
        }
        Bytes expected(source.size());
        for (std::uint64_t row = 0; row < rows; ++row) {
          std::memcpy(expected.data() + (rows - 1 - row) * row_bytes, source.data() + row * row_bytes, row_bytes);
        }
        const std::uint64_t back = std::uint64_t{0} - row_bytes;
        Bytes target(source.size());
        kernel(target.data() + (rows - 1) * row_bytes, back, source.data(), row_bytes, row_bytes, rows);
        store_fence();
        ASSERT_EQ(target, expected) << name << " target leads back, row " << row_bytes;
        target.assign(source.size(), std::byte{0});
        kernel(target.data(), row_bytes, source.data() + (rows - 1) * row_bytes, back, row_bytes, rows);
        store_fence();
        ASSERT_EQ(target, expected) << name << " source leads back, row " << row_bytes;
      }
    }
  }
}

TEST(Copy, TheKernelInUseHasAName) {
  EXPECT_NE(find_copy_kernel(copy_kernel_name(), CopyMethod::streaming), nullptr);
  EXPECT_EQ(find_copy_kernel("none", CopyMethod::cached), nullptr);
}

TEST(Copy, StreamsOnlyAboveTheLimit) {
  EXPECT_EQ(choose_method(100, 100), CopyMethod::cached);
  EXPECT_EQ(choose_method(101, 100), CopyMethod::streaming);
}

}  // namespace
}  // namespace couplet::layout
