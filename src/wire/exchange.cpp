#include "wire/exchange.hpp"

#include "wire/fields.hpp"

namespace couplet::wire {
namespace {

constexpr std::size_t max_edges = 1U << 24U;
constexpr std::size_t min_edge_bytes = 37;  // an edge without texts
constexpr std::uint64_t max_bytes = std::uint64_t{1} << 60U;

constexpr std::uint8_t flag_sends = 1;
constexpr std::uint8_t flag_variable = 2;

}  // namespace

std::string encode_exchange_terms(const ExchangeTerms& terms) {
  FieldWriter writer;
  writer.put(exchange_terms_magic);
  writer.put(terms.big_endian);
  writer.put(static_cast<std::uint32_t>(terms.edges.size()));
  for (const ExchangeEdge& edge : terms.edges) {
    writer.put(static_cast<std::uint8_t>((edge.sends ? flag_sends : 0) | (edge.is_variable ? flag_variable : 0)));
    writer.put(edge.tag);
    writer.put(edge.bytes);
    writer.put(edge.every);
    writer.put(edge.offset);
    writer.put_text(std::string_view(edge.title).substr(0, max_exchange_title_bytes));
    writer.put_text(std::string_view(edge.contents).substr(0, max_exchange_contents_bytes));
  }
  return writer.take();
}

Result<ExchangeTerms> decode_exchange_terms(std::string_view image) {
  FieldReader reader(image, "the terms of an exchange");
  if (reader.take<std::uint32_t>("magic") != exchange_terms_magic) reader.complain("magic", "another number");
  ExchangeTerms terms;
  terms.big_endian = reader.take_flag("byte order");
  const std::size_t count = reader.take_count("number of edges", max_edges, min_edge_bytes);
  terms.edges.reserve(count);
  for (std::size_t index = 0; index < count && !reader.failed(); ++index) {
    ExchangeEdge edge;
    const auto flags = reader.take<std::uint8_t>("flags", 0, flag_sends | flag_variable);
    edge.sends = (flags & flag_sends) != 0;
    edge.is_variable = (flags & flag_variable) != 0;
    edge.tag = reader.take<std::int64_t>("tag");
    edge.bytes = reader.take<std::uint64_t>("bytes", 0, max_bytes);
    edge.every = reader.take<std::uint64_t>("every", 1);
    edge.offset = reader.take<std::uint64_t>("offset");
    edge.title = reader.take_text("title", max_exchange_title_bytes);
    edge.contents = reader.take_text("contents", max_exchange_contents_bytes);
    terms.edges.push_back(std::move(edge));
  }
  COUPLET_TRY(reader.finish());
  return terms;
}

std::string encode_exchange_notice(const ExchangeNotice& notice) {
  FieldWriter writer;
  writer.put(exchange_notice_magic);
  writer.put(static_cast<std::uint32_t>(notice.news));
  writer.put(notice.rounds);
  writer.put(notice.code);
  writer.put_text(std::string_view(notice.text).substr(0, max_exchange_text_bytes));
  return writer.take();
}

Result<ExchangeNotice> decode_exchange_notice(std::string_view image) {
  FieldReader reader(image, "a notice of an exchange");
  if (reader.take<std::uint32_t>("magic") != exchange_notice_magic) reader.complain("magic", "another number");
  ExchangeNotice notice;
  notice.news = static_cast<ExchangeNews>(reader.take<std::uint32_t>("kind", 1, 2));
  notice.rounds = reader.take<std::uint64_t>("rounds");
  notice.code = reader.take<std::int32_t>("code");
  notice.text = reader.take_text("text", max_exchange_text_bytes);
  if (notice.news == ExchangeNews::failed && notice.code >= 0) reader.complain("code", "not an error");
  COUPLET_TRY(reader.finish());
  return notice;
}

}  // namespace couplet::wire
