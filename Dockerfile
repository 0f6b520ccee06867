# Two images. `docker build --target grading` makes the one for `siamese grade`; see docs/teaching/index.md.
FROM python:3.12-slim AS grading

WORKDIR /source
COPY setup.cfg pyproject.toml README.md LICENSE THIRD-PARTY.md requirements.txt ./
COPY requirements ./requirements
COPY siamese ./siamese
# All that the notebooks import; not what Trax asks for besides, TensorFlow above all.
RUN pip install --no-cache-dir --no-deps -r requirements.txt -r requirements/notebooks.txt . \
    && useradd --create-home --uid 1000 siamese
USER 1000
ENTRYPOINT ["siamese"]
CMD ["grade", "--help"]

# The last is made where none is named: `siamese serve`. Model and index are mounted at /data; see docs/serving.md.
FROM python:3.12-slim

WORKDIR /source
COPY setup.cfg pyproject.toml README.md LICENSE THIRD-PARTY.md requirements.txt ./
COPY requirements ./requirements
COPY siamese ./siamese
# The versions that the tests run with; a user without rights beyond the index, which /v1/add and /v1/remove change.
RUN pip install --no-cache-dir --constraint requirements.txt --constraint requirements/extras.txt ".[serve]" \
    && useradd --create-home --uid 1000 siamese
USER 1000
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --start-period=30s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health', timeout=5)"]
# It ends without SIAMESE_API_KEY: other machines can reach it.
ENTRYPOINT ["siamese", "serve"]
CMD ["/data/index", "--host", "0.0.0.0", "--port", "8000"]
