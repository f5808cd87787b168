// SPDX-License-Identifier: Apache-2.0
#include "analyzer/gate/amounts.h"

#include <cmath>
#include <cstdlib>
#include <string>

namespace vramtrace::gate {
namespace {

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

// A decimal number at the front, digits and one point only; what follows it stays in `text`.
std::optional<double> take_number(std::string_view& text) {
    const size_t end = text.find_first_not_of("0123456789.");
    const std::string digits(text.substr(0, end));
    if (digits.empty() || digits.find_first_of("0123456789") == std::string::npos) return std::nullopt;
    char* rest = nullptr;
    const double value = std::strtod(digits.c_str(), &rest);
    if (*rest != '\0' || !std::isfinite(value)) return std::nullopt;
    text = end == std::string_view::npos ? std::string_view{} : trimmed(text.substr(end));
    return value;
}

}  // namespace

std::optional<uint64_t> parse_bytes(std::string_view text) {
    text = trimmed(text);
    const auto value = take_number(text);
    if (!value) return std::nullopt;
    double factor = 1;
    if (!text.empty()) {
        const std::string_view units = "BKMGT";
        const size_t unit = units.find(text[0] >= 'a' ? static_cast<char>(text[0] - 'a' + 'A') : text[0]);
        if (unit == std::string_view::npos) return std::nullopt;
        const std::string_view rest = text.substr(1);
        if (!(rest.empty() || (unit > 0 && (rest == "iB" || rest == "B" || rest == "i")))) return std::nullopt;
        factor = std::ldexp(1.0, static_cast<int>(10 * unit));
    }
    const double bytes = *value * factor;
    if (bytes >= 18446744073709551616.0 || bytes != std::floor(bytes)) return std::nullopt;
    return static_cast<uint64_t>(bytes);
}

std::optional<double> parse_share(std::string_view text) {
    text = trimmed(text);
    const auto value = take_number(text);
    if (!value) return std::nullopt;
    if (text == "%") return *value / 100;
    return text.empty() ? value : std::nullopt;
}

}  // namespace vramtrace::gate
