// Items with gaps in C++; see test_datatypes.py. Usage: datatypes_cpp sender|receiver
#include <array>
#include <couplet/couplet.hpp>
#include <cstddef>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using couplet::Datatype;
constexpr std::size_t rows = 6;
constexpr std::size_t columns = 5;
constexpr std::size_t length = 1000;
constexpr std::size_t width = 300;
constexpr couplet_type number = couplet::type_of<double>;

struct Particle {
  double x;
  std::int32_t kind;
};

void require(bool condition, const std::string& what) {
  if (!condition) {
    throw std::runtime_error("not true: " + what);
  }
}

Datatype particle_type() {
  const std::array<std::uint64_t, 2> blocks = {1, 1};
  const std::array<std::int64_t, 2> displacements = {offsetof(Particle, x), offsetof(Particle, kind)};
  const std::array types = {number, couplet::type_of<std::int32_t>};
  return Datatype::structure(blocks, displacements, types);
}

void send_all(const couplet::Group& group) {
  std::array<std::array<double, columns>, rows> field{};
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      field[row][column] = static_cast<double>(10 * row + column);
    }
  }
  const Datatype column = Datatype::vector(rows, 1, columns, number);
  couplet::send_items(group, &field[0][2], 1, column, 1, 1);
  const std::array<std::uint64_t, 2> sizes = {rows, columns};
  const std::array<std::uint64_t, 2> subsizes = {3, 2};
  const std::array<std::uint64_t, 2> starts = {2, 1};
  couplet::send_items(group, field.data(), 1, Datatype::subarray(sizes, subsizes, starts, number), 1, 2);
  const Datatype side_by_side = Datatype::resized(column.handle(), 0, sizeof(double));
  require(side_by_side.extent() == 8 && side_by_side.bytes() == 48, "the sizes of a column");
  couplet::send_items(group, field.data(), 2, side_by_side, 1, 3);
  const std::array<std::uint64_t, 2> blocks = {2, 1};
  const std::array<std::int64_t, 2> displacements = {3, 0};
  couplet::send_items(group, field.data(), 1, Datatype::indexed(blocks, displacements, number), 1, 4);
  const std::array<Particle, 3> particles = {Particle{0.5, 0}, Particle{1.5, 1}, Particle{2.5, 2}};
  couplet::send_items(group, particles.data(), particles.size(), particle_type(), 1, 5);
  std::vector<double> large(length * width);
  for (std::size_t index = 0; index < large.size(); ++index) {
    large[index] = 1000.0 * static_cast<double>(index / width) + static_cast<double>(index % width);
  }
  couplet::isend_items(group, &large[50], 1, Datatype::vector(length, 100, width, number), 1, 6).wait();
  couplet::send_items(group, field.data(), 2, side_by_side, 1, 7);
  couplet::send_items(group, field.data(), 3, side_by_side, 1, 8);
}

void receive_all(const couplet::Group& group) {
  std::array<std::array<double, columns>, rows> field{};
  const Datatype column = Datatype::vector(rows, 1, columns, number);
  require(couplet::recv_items(group, &field[0][1], 1, column, 0, 1).count == 1, "a column");
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t place = 0; place < columns; ++place) {
      require(field[row][place] == (place == 1 ? static_cast<double>(10 * row + 2) : 0), "the column");
    }
  }
  std::vector<double> dense(12);
  require(group.recv(dense, 0, 2).count == 6, "a part");
  for (std::size_t index = 0; index < 6; ++index) {
    require(dense[index] == static_cast<double>(10 * (2 + index / 2) + 1 + index % 2), "the part");
  }
  group.recv(dense, 0, 3);
  for (std::size_t index = 0; index < 12; ++index) {
    require(dense[index] == static_cast<double>(10 * (index % 6) + index / 6), "two columns");
  }
  require(group.recv(dense, 0, 4).count == 3 && dense[0] == 3 && dense[1] == 4 && dense[2] == 0, "a list");
  std::array<Particle, 4> particles{};
  require(couplet::recv_items(group, particles.data(), 4, particle_type(), 0, 5).count == 3, "particles");
  for (int index = 0; index < 3; ++index) {
    const Particle& one = particles.at(static_cast<std::size_t>(index));
    require(one.x == index + 0.5 && one.kind == index, "the particles");
  }
  std::vector<double> large(length * width);
  couplet::irecv_items(group, &large[150], 1, Datatype::vector(length, 100, width, number), 0, 6).wait();
  for (std::size_t index = 0; index < large.size(); ++index) {
    const std::size_t place = index % width;
    const double wanted = 1000.0 * static_cast<double>(index / width) + static_cast<double>(place) - 100;
    require(large[index] == (place >= 150 && place < 250 ? wanted : 0), "the large block");
  }
  const Datatype side_by_side = Datatype::resized(column.handle(), 0, sizeof(double));
  require(couplet::recv_items(group, field.data(), 3, side_by_side, 0, 7).count == 2, "two columns of three");
  try {
    couplet::recv_items(group, field.data(), 2, side_by_side, 0, 8);
    require(false, "three columns do not fit");
  } catch (const couplet::Error& error) {
    require(error.code() == COUPLET_ERROR_TRUNCATED, error.what());
  }
  try {
    const std::array<std::uint64_t, 1> one = {1};
    static_cast<void>(Datatype::indexed(one, {}, number));
    require(false, "lists of unlike size");
  } catch (const couplet::Error& error) {
    require(error.code() == COUPLET_ERROR_ARGUMENT, error.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    return 2;
  }
  try {
    const std::string program = argv[1];
    couplet::Universe universe = couplet::join(program);
    program == "sender" ? send_all(universe.group()) : receive_all(universe.group());
    universe.leave();
    std::cout << "cpp " << program << ": all items\n";
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
