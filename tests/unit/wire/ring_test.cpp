#include "wire/ring.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace couplet::wire {
namespace {

template <typename T>
T number_at(const std::byte* memory, std::size_t offset) {
  T value;
  std::memcpy(&value, memory + offset, sizeof value);
  return value;
}

// The layout of docs/formats/shm-ring.md, byte by byte.
TEST(Ring, LaysOutWhatTheFormatPageSays) {
  const RingShape shape{.cell_count = 8, .bulk_bytes = 4096};
  const std::size_t bytes = ring_file_bytes(shape);
  ASSERT_EQ(bytes, 4096U + 2 * (64 * 8 + 4096));
  const std::unique_ptr<std::byte, decltype(&std::free)> memory(
      static_cast<std::byte*>(std::aligned_alloc(ring_alignment, bytes)), &std::free);
  std::memset(memory.get(), 0, bytes);
  RingHeader header;
  header.first_cell = 13;  // is taken modulo the number of cells
  header.peers = {3, 9};
  header.incarnations = {1, 2};
  header.nonces = {0x1111, 0x2222};
  auto map = RingMap::lay_out({memory.get(), bytes}, shape, header);
  ASSERT_TRUE(map.ok()) << map.status().text();
  map->direction(1).reader->bulk = 77;
  map->direction(1).writer->waiting = 1;
  map->direction(1).shared->store(5);
  const std::byte* const raw = memory.get();
  EXPECT_EQ(number_at<std::uint64_t>(raw, 0), 0x676E69526C706F43U);
  EXPECT_EQ(number_at<std::uint32_t>(raw, 8), 3U);
  EXPECT_EQ(number_at<std::uint32_t>(raw, 12), 4096U);
  EXPECT_EQ(number_at<std::uint32_t>(raw, 16), 8U);
  EXPECT_EQ(number_at<std::uint32_t>(raw, 20), 4096U);
  EXPECT_EQ(number_at<std::uint32_t>(raw, 24), 5U);
  EXPECT_EQ(number_at<std::uint32_t>(raw, 36), 9U);
  EXPECT_EQ(number_at<std::uint32_t>(raw, 44), 2U);
  EXPECT_EQ(number_at<std::uint64_t>(raw, 48), 0x1111U);
  EXPECT_EQ(number_at<std::uint32_t>(raw, 128), 5U) << "reader line of direction 0";
  EXPECT_EQ(number_at<std::uint64_t>(raw, 192 + 8), 77U) << "reader line of direction 1";
  EXPECT_EQ(number_at<std::uint32_t>(raw, 256 + 64), 1U) << "writer line of direction 1";
  EXPECT_EQ(number_at<std::uint64_t>(raw, 384 + 64), 5U) << "shared line of direction 1";
  const std::size_t cells = 4096 + 64 * 8 + 4096;  // the cells of direction 1
  EXPECT_EQ(number_at<std::uint64_t>(raw, cells + 5 * 64), 0xFFFFFFFEU | 1ULL << 32U);
  EXPECT_EQ(number_at<std::uint64_t>(raw, cells + 4 * 64), 5U | 1ULL << 32U) << "position 12 comes next, after 4";
  EXPECT_EQ(reinterpret_cast<const std::byte*>(map->direction(1).cells), raw + cells);
  EXPECT_EQ(map->direction(1).bulk, raw + cells + 64 * 8);
  auto seen = RingMap::inspect({memory.get(), bytes});
  ASSERT_TRUE(seen.ok());
  EXPECT_EQ(seen->header().peers[1], 9U);
}

TEST(Ring, ShapesOutOfBounds) {
  EXPECT_TRUE(check_ring_shape({least_cells, least_bulk_bytes}).ok());
  EXPECT_TRUE(check_ring_shape({most_cells, most_bulk_bytes}).ok());
  EXPECT_EQ(check_ring_shape({least_cells / 2, least_bulk_bytes}).code(), Code::limit);
  EXPECT_EQ(check_ring_shape({most_cells * 2, least_bulk_bytes}).code(), Code::limit);
  EXPECT_EQ(check_ring_shape({12, least_bulk_bytes}).code(), Code::limit);
  EXPECT_EQ(check_ring_shape({8, least_bulk_bytes / 2}).code(), Code::limit);
  EXPECT_EQ(check_ring_shape({8, most_bulk_bytes * 2}).code(), Code::limit);
}

}  // namespace
}  // namespace couplet::wire
